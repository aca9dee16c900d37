import type { Queryable } from '../../db/database.ts';
import { findPassages, searchedBase, type FoundPassage } from './passage-store.ts';
import { toSearchText } from './search-text.ts';

export type { FoundPassage } from './passage-store.ts';

/** They keep a search of 10 000 passages short, even for words that are in most of them. */
const LIMITS = { words: 32, terms: 10, candidates: 1000 };

/**
 * The passages of a knowledge base that answer `query` best, at most `limit`, best first: by full text, whole questions
 * welcome. The caller has made sure that the base is the account's.
 */
export async function searchKnowledge(db: Queryable, knowledgeBaseId: string, query: string, limit: number): Promise<FoundPassage[]> {
  const base = await searchedBase(db, knowledgeBaseId);
  if (!base || base.passages === 0) return [];
  return findPassages(db, base, toSearchText(query.toWellFormed().replaceAll('\0', ' ')), { ...LIMITS, passages: limit });
}
