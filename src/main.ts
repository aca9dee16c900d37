/** Starts the process and stops it: settings, gateway, what a person needs to know, signals. */
import { mkdirSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { PRICE_BOOK } from '../config/price-book.ts';
import { readSettings, SettingError, type Settings } from '../config/settings.ts';
import type { Gateway } from './gateway.ts';

let settings: Settings;
try {
  settings = readSettings();
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
  console.error(error.message);
  process.exit(2);
}

// Before anything large is loaded: code compiled at one start is there for the next (0.4 s).
mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 });
enableCompileCache(join(settings.dataDir, 'compile-cache'));
const [{ createLog }, { startGateway }, { welcome }] = await Promise.all([import('./api/log.ts'), import('./gateway.ts'), import('./welcome.ts')]);

const log = createLog({ level: settings.logLevel });
let gateway: Gateway;
try {
  gateway = await startGateway({ ...settings, priceBook: PRICE_BOOK }, log);
} catch (error) {
  log.fatal({ error: error instanceof Error ? error.stack : String(error) }, 'the gateway did not start');
  console.error(`Wirevoice did not start: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
console.log(welcome(gateway, settings));

let stopping = false;
/** The first signal drains; the second stops at once. */
function onSignal(signal: NodeJS.Signals): void {
  if (stopping) {
    log.warn({ signal }, 'stopping at once');
    void gateway.stop(0).then(() => process.exit(0));
    return;
  }
  stopping = true;
  log.info({ signal, drainSeconds: settings.drainSeconds }, 'draining: no new calls; a second signal ends the live ones');
  void gateway.stop().then(() => process.exit(0));
}
process.on('SIGTERM', onSignal);
process.on('SIGINT', onSignal);
