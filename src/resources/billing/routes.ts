import type { App } from '../../api/app-type.ts';
import type { AppContext } from '../../context.ts';

/** `/v1/billing`. */
export function billingRoutes(_app: App, _context: AppContext): void {}
