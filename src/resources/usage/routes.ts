import type { App } from '../../api/app-type.ts';
import type { AppContext } from '../../context.ts';

/** `/v1/usage`. */
export function usageRoutes(_app: App, _context: AppContext): void {}
