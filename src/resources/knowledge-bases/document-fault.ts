/** Why a document cannot be used, in words for the person who added it. */
export class DocumentFault extends Error {
  override readonly name = 'DocumentFault';
}
