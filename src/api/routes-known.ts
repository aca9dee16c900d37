import type { RouteOptions } from 'fastify';

/** The paths that exist and their methods, for 405 and its Allow header. */
export interface KnownRoutes {
  /** Methods of the path of `url`; empty: no such path. */
  methodsOf(url: string): string[];
  /** Every route as `GET /v1/agents/:id`. */
  all(): string[];
}

/** Collects every route as it is registered, and refuses one that does not say what its caller must hold. */
export function watchRoutes(app: { addHook(name: 'onRoute', hook: (route: RouteOptions) => void): unknown }): KnownRoutes {
  const known = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  app.addHook('onRoute', (route) => {
    if (route.config?.scope === undefined) throw new Error(`The route ${String(route.method)} ${route.url} declares no scope.`);
    const entry = known.get(route.url) ?? { pattern: patternOf(route.url), methods: new Set<string>() };
    for (const method of [route.method].flat()) entry.methods.add(method);
    known.set(route.url, entry);
  });
  return {
    all: () => [...known].flatMap(([url, { methods }]) => [...methods].map((method) => `${method} ${url}`)),
    methodsOf(url) {
      const path = url.split('?', 1)[0] ?? '';
      return [...new Set([...known.values()].filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => [...methods]))].sort();
    },
  };
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
