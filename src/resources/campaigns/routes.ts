import type { App } from '../../api/app-type.ts';
import type { AppContext } from '../../context.ts';

/** `/v1/campaigns`. */
export function campaignRoutes(_app: App, _context: AppContext): void {}
