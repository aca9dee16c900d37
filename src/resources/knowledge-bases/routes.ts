import type { App } from '../../api/app-type.ts';
import type { AppContext } from '../../context.ts';

/** `/v1/knowledge-bases`. */
export function knowledgeBaseRoutes(_app: App, _context: AppContext): void {}
