import { made, type Example } from './example.ts';

export const KNOWLEDGE_BASE = { name: 'Shop' };
export const DOCUMENT = { title: 'Hours', text: 'We are open from nine to five.' };
const DOCUMENTS = '/v1/knowledge-bases/:id/documents';

export const examples: Example[] = [
  {
    path: '/v1/knowledge-bases', notFound: 'knowledge_base_not_found',
    async make(api, key) {
      const id = await made(api, key, '/v1/knowledge-bases', KNOWLEDGE_BASE);
      return { id, document_id: await made(api, key, `/v1/knowledge-bases/${id}/documents`, DOCUMENT) };
    },
    bodies: { 'POST /v1/knowledge-bases': KNOWLEDGE_BASE, [`POST ${DOCUMENTS}`]: DOCUMENT, 'POST /v1/knowledge-bases/:id/search': { query: 'hours' } },
  },
];
