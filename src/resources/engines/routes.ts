import type { App } from '../../api/app-type.ts';
import type { AppContext } from '../../context.ts';

/** `/v1/engines`. */
export function engineRoutes(_app: App, _context: AppContext): void {}
