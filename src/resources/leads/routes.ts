import type { App } from '../../api/app-type.ts';
import type { AppContext } from '../../context.ts';

/** `/v1/leads`. */
export function leadRoutes(_app: App, _context: AppContext): void {}
