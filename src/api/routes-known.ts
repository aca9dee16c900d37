import type { FastifyContextConfig, RouteOptions } from 'fastify';
import type { RouteScope } from './scopes.ts';

export interface KnownRoute { method: string; url: string; scope: RouteScope; schema: Readonly<Record<string, unknown>>; config: FastifyContextConfig }

/** The paths that exist and their methods, for 405 and its Allow header. */
export interface KnownRoutes {
  /** Methods of the path of `url`; empty: no such path. */
  methodsOf(url: string): string[];
  /** Every route there is, a method each. */
  all(): KnownRoute[];
}

/** Collects every route as it is registered, and refuses one that does not say what its caller must hold. */
export function watchRoutes(app: { addHook(name: 'onRoute', hook: (route: RouteOptions) => void): unknown }): KnownRoutes {
  const known = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  const routes: KnownRoute[] = [];
  app.addHook('onRoute', (route) => {
    const { scope } = route.config ?? {};
    if (scope === undefined) throw new Error(`The route ${String(route.method)} ${route.url} declares no scope.`);
    const entry = known.get(route.url) ?? { pattern: patternOf(route.url), methods: new Set<string>() };
    for (const method of [route.method].flat()) {
      entry.methods.add(method);
      routes.push({ method, url: route.url, scope, schema: (route.schema ?? {}) as Record<string, unknown>, config: route.config ?? {} });
    }
    known.set(route.url, entry);
  });
  return {
    all: () => [...routes],
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
