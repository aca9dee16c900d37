import type { App } from '../../api/app-type.ts';
import type { AppContext } from '../../context.ts';

/** `/v1/mcp-servers`. */
export function mcpServerRoutes(_app: App, _context: AppContext): void {}
