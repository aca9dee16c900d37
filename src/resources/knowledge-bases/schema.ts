import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { Id, Nullable, NullableInteger, NullableString, OneOf, Timestamp } from '../../api/schemas.ts';

const closed = { additionalProperties: false };
const MAX_TEXT = 1024 * 1024;
const name = () => Type.String({ minLength: 1, maxLength: 200 });

export const KnowledgeBase = Type.Object({
  id: Type.String(),
  object: Type.Literal('knowledge_base'),
  livemode: Type.Boolean(),
  name: Type.String(),
  description: NullableString,
  status: OneOf(['empty', 'indexing', 'ready', 'error'], { description: 'empty: no documents. indexing: one is being processed. error: one failed; the others are found all the same. ready: all are found.' }),
  document_count: Type.Integer(),
  chunk_count: Type.Integer({ description: 'Passages that a search looks through; at most 10 000.' }),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type KnowledgeBase = Static<typeof KnowledgeBase>;
export const KnowledgeBaseList = listOf(KnowledgeBase);

const description = () => Type.Optional(Nullable(Type.String({ maxLength: 1000 })));
export const CreateKnowledgeBase = Type.Object({ name: name(), description: description() }, closed);
export type CreateKnowledgeBase = Static<typeof CreateKnowledgeBase>;
export const UpdateKnowledgeBase = Type.Object({ name: Type.Optional(name()), description: description() }, closed);
export type UpdateKnowledgeBase = Static<typeof UpdateKnowledgeBase>;
export const ListKnowledgeBases = Type.Object({ ...PAGE_PARAMETERS }, closed);

export const KnowledgeDocument = Type.Object({
  id: Type.String(),
  object: Type.Literal('knowledge_document'),
  livemode: Type.Boolean(),
  knowledge_base_id: Type.String(),
  title: Type.String(),
  source: OneOf(['text', 'url', 'file']),
  format: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'txt, md, html, pdf, docx or csv; null until an address has been fetched.' }),
  url: NullableString,
  filename: NullableString,
  size_bytes: NullableInteger,
  status: OneOf(['processing', 'ready', 'failed']),
  error: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Why it failed and what to do, in words.' }),
  progress: Type.Integer({ description: 'Percent.' }),
  chunk_count: Type.Integer(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type KnowledgeDocument = Static<typeof KnowledgeDocument>;
export const KnowledgeDocumentList = listOf(KnowledgeDocument);

export const CreateDocument = Type.Object({
  title: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Required with text; otherwise the file\'s name or the address when absent.' })),
  text: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_TEXT, description: 'Plain text or Markdown.' })),
  url: Type.Optional(Type.String({ minLength: 1, maxLength: 2048, errorCode: 'unsafe_url', description: 'A public http(s) address, fetched once.' })),
}, { ...closed, description: 'One of text, url and (multipart/form-data) file: txt, md, html, pdf, docx or csv, at most 25 MiB.' });
export type CreateDocument = Static<typeof CreateDocument>;
export const ListDocuments = Type.Object({ ...PAGE_PARAMETERS }, closed);
export const DocumentParams = Type.Object({ id: Id('The knowledge base\'s id.'), document_id: Id('The document\'s id.') }, closed);

export const SearchKnowledge = Type.Object({
  query: Type.String({ minLength: 1, maxLength: 2000, description: 'Words, or a whole question.' }),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, description: 'Passages at most; 5 when absent.' })),
}, closed);

export const KnowledgePassage = Type.Object({
  object: Type.Literal('knowledge_passage'),
  document_id: Type.String(),
  title: Type.String({ description: 'The document\'s.' }),
  text: Type.String(),
  heading: NullableString,
  score: Type.Number({ description: 'Higher is better; comparable within one answer only.' }),
  start: Type.Integer({ description: 'Where the passage begins in the document\'s text, in UTF-16 code units.' }),
  end: Type.Integer({ description: 'Where it ends, exclusive.' }),
});
export type KnowledgePassage = Static<typeof KnowledgePassage>;
export const FoundPassages = Type.Object({ object: Type.Literal('knowledge_search'), data: Type.Array(KnowledgePassage) });
