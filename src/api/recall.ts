import type { Principal } from './principal.ts';

/** What a retry knows of the first request: who asked, the id given to what it made, and the ids in its path. */
export interface Recalled { principal: Principal; resourceId: string; params: Readonly<Record<string, string>> }
/** The body of a retry's answer: the resource as it is now. Throws ApiError when it is gone. */
export type Recall = (found: Recalled) => Promise<unknown>;
