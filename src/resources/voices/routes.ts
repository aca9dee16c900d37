import type { App } from '../../api/app-type.ts';
import type { AppContext } from '../../context.ts';

/** `/v1/voices`. */
export function voiceRoutes(_app: App, _context: AppContext): void {}
