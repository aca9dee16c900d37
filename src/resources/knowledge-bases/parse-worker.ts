/** Entry of the thread that reads one document: whatever is in it, no call waits for it, and it can be ended at any time. */
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { DocumentFault } from './document-fault.ts';
import { readDocument } from './document-readers.ts';
import type { FromParser, ParserInput } from './parser-protocol.ts';
import { toPassages } from './passages.ts';
import { searchConfigOf, toSearchText } from './search-text.ts';

const PASSAGES_AT_ONCE = 250;

if (!parentPort) throw new Error('parse-worker.ts is a thread of the gateway; start src/main.ts instead');
const port = parentPort;
const post = (message: FromParser): void => port.postMessage(message);
const { format, data, title, maxPassages } = workerData as ParserInput;

// On Linux a priority is a thread's own: calls come first.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

try {
  await read();
} catch (error) {
  // What a library throws over a broken document is a fault of the document.
  const words = error instanceof DocumentFault ? error.message : 'The document is damaged: it cannot be read to its end.';
  post({ type: 'fault', words, detail: error instanceof DocumentFault ? undefined : String(error) });
}

async function read(): Promise<void> {
  const extracted = await readDocument(format, data, (share) => post({ type: 'progress', share }));
  const passages = toPassages(extracted);
  if (passages.length === 0) throw new DocumentFault('The document holds no text.');
  if (passages.length > maxPassages) {
    throw new DocumentFault(`The document makes ${passages.length} passages; a knowledge base holds at most ${maxPassages}. Split it over several knowledge bases.`);
  }
  const searchConfig = searchConfigOf(toSearchText(extracted.text.slice(0, 40_000)));
  for (let from = 0; from < passages.length; from += PASSAGES_AT_ONCE) {
    post({
      type: 'passages',
      passages: passages.slice(from, from + PASSAGES_AT_ONCE).map((passage) => ({
        ...passage, searchHeading: toSearchText(`${title}\n${passage.heading}`), searchText: toSearchText(passage.text),
      })),
    });
  }
  post({ type: 'done', searchConfig });
}
