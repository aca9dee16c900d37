import type { App } from '../../api/app-type.ts';
import type { AppContext } from '../../context.ts';

/** `/v1/appointments`. */
export function appointmentRoutes(_app: App, _context: AppContext): void {}
