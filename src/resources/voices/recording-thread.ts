/** A thread that looks at recordings, one after another, and is ended when one keeps it too long. */
import { parentPort, workerData } from 'node:worker_threads';
import { inspect, type FromThread } from './recording-format.ts';

const say = (message: FromThread): void => parentPort?.postMessage(message);
const { files } = workerData as { files: Uint8Array[] };
say('ready');
for (const file of files) {
  say(await inspect(Buffer.from(file.buffer, file.byteOffset, file.byteLength)));
}
