/**
 * How a row is read until the transaction ends. `keep`: it is not deleted. `change`: nobody else changes it; rows that name it can
 * still come. `delete`: alone with it, so that none can come either. A change that took the stronger lock would hold up every row
 * that names the object, and lock in a ring with whoever makes one.
 */
export type RowLock = 'read' | 'keep' | 'change' | 'delete';

/** What ends the SELECT. */
export const LOCK_SQL: Readonly<Record<RowLock, string>> = { read: '', keep: ' FOR KEY SHARE', change: ' FOR NO KEY UPDATE', delete: ' FOR UPDATE' };
