import type { Queryable } from '../../db/database.ts';
import type { IndexedPassage } from './parser-protocol.ts';

/** The only SQL on passages. Each lexeme is stored as `base:lexeme`, so that the index finds those of one base only. */

export interface FoundPassage { document_id: string; title: string; text: string; heading: string; start_offset: number; end_offset: number; score: number }

/** Longer ones are no words anybody says. */
const MAX_LEXEME_BYTES = 200;
/** Weights of ts_rank for D, C, B, A: words of a title or heading (A) count somewhat more. */
const WEIGHTS = '{0.7, 0.7, 0.7, 1}';
/** A lexeme as tsvector and tsquery read it. */
const quoted = (lexeme: string): string => `'''' || replace(replace(${lexeme}, '\\', '\\\\'), '''', '''''') || ''''`;

/** Adds a document's passages from `position` on; `config` stems them. */
export async function insertPassages(db: Queryable, document: { id: string; indexNumber: number; config: string }, position: number, passages: readonly IndexedPassage[]): Promise<void> {
  await db.query(
    `INSERT INTO knowledge_passage (document_id, position, heading, text, start_offset, end_offset, search)
     SELECT $1, $2 + new.ordinality - 1, new.heading, new.text, new.start_offset, new.end_offset,
       (SELECT coalesce(string_agg(${quoted('$3 || lexeme')} || ':' || (SELECT string_agg(place || weight, ',') FROM unnest(positions, weights) AS at(place, weight)), ' '), '')::tsvector
        FROM unnest(setweight(to_tsvector($4::regconfig, new.search_heading), 'A') || to_tsvector($4::regconfig, new.search_text))
        WHERE octet_length(lexeme) <= ${MAX_LEXEME_BYTES})
     FROM unnest($5::text[], $6::text[], $7::int[], $8::int[], $9::text[], $10::text[])
       WITH ORDINALITY AS new(heading, text, start_offset, end_offset, search_heading, search_text, ordinality)`,
    [
      document.id, position, prefixOf(document.indexNumber), document.config, passages.map(({ heading }) => heading), passages.map(({ text }) => text),
      passages.map(({ start }) => String(start)), passages.map(({ end }) => String(end)), passages.map(({ searchHeading }) => searchHeading), passages.map(({ searchText }) => searchText),
    ],
  );
}

export async function deletePassages(db: Queryable, documentId: string): Promise<void> {
  await db.query('DELETE FROM knowledge_passage WHERE document_id = $1', [documentId]);
}

export interface SearchedBase { indexNumber: number; configs: string[]; passages: number }

/** What a search of the base must know. Undefined: no such base. */
export async function searchedBase(db: Queryable, knowledgeBaseId: string): Promise<SearchedBase | undefined> {
  const [row] = await db.query<{ index_number: number; configs: string[]; passages: number }>(
    `SELECT b.index_number, coalesce(array_agg(DISTINCT d.search_config) FILTER (WHERE d.search_config IS NOT NULL), '{}') AS configs, coalesce(sum(d.chunk_count), 0)::int AS passages
     FROM knowledge_base b LEFT JOIN knowledge_document d ON d.knowledge_base_id = b.id AND d.status = 'ready' WHERE b.id = $1 GROUP BY b.id`, [knowledgeBaseId]);
  return row && { indexNumber: row.index_number, configs: row.configs, passages: row.passages };
}

/** How much of a base a search looks at, whatever is asked. */
export interface SearchLimits {
  /** Words of the question that are looked up, its first. */
  words: number;
  /** Words that count, the rarest. */
  terms: number;
  /** Passages that are ranked: those with the rarest words. */
  candidates: number;
  /** Passages that are answered. */
  passages: number;
}

/** A word in more passages than this is simply common. */
const COUNTED_TO = 3000;

/**
 * The passages that hold words of `searchText`, best first. A word counts the more the fewer passages hold it, and a
 * second time in one passage less than the first, so a question's rare words decide.
 */
export function findPassages(db: Queryable, base: SearchedBase, searchText: string, limits: SearchLimits): Promise<FoundPassage[]> {
  return db.query<FoundPassage>(
    `WITH said AS MATERIALIZED (
       SELECT (${quoted('$1 || lexeme')})::tsquery AS query
       FROM unnest($2::regconfig[]) AS config, unnest(to_tsvector(config, $3))
       WHERE octet_length(lexeme) <= ${MAX_LEXEME_BYTES} GROUP BY lexeme ORDER BY min(positions[1]) LIMIT $4
     ), counted AS MATERIALIZED (
       SELECT query, (SELECT count(*) FROM (SELECT FROM knowledge_passage WHERE search @@ query LIMIT ${COUNTED_TO}) AS holding)::float8 AS passages FROM said
     ), term AS MATERIALIZED (
       SELECT query, ln(1 + greatest($5 - passages + 0.5, 0.5) / (passages + 0.5)) AS weight, sum(passages) OVER rarest AS reached, row_number() OVER rarest AS place
       FROM counted WHERE passages > 0 WINDOW rarest AS (ORDER BY passages, query) ORDER BY place LIMIT $6
     ), best AS (
       SELECT document_id, position, (SELECT sum(weight * ts_rank('${WEIGHTS}', search, query)) FROM term) AS score
       FROM knowledge_passage
       WHERE search @@ (SELECT string_agg(query::text, ' | ')::tsquery FROM term WHERE place = 1 OR reached <= $7)
       ORDER BY score DESC, document_id, position LIMIT $8
     )
     SELECT document_id, d.title, p.text, p.heading, p.start_offset, p.end_offset, score
     FROM best JOIN knowledge_passage p USING (document_id, position) JOIN knowledge_document d ON d.id = document_id
     ORDER BY score DESC, document_id, position`,
    [prefixOf(base.indexNumber), base.configs, searchText, limits.words, base.passages, limits.terms, limits.candidates, limits.passages],
  );
}

function prefixOf(indexNumber: number): string {
  return `${indexNumber.toString(36)}:`;
}
