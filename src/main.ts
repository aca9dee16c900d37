/** Starts the process and stops it: settings, gateway, what a person needs to know, signals. */
import { readSettings, SettingError, type Settings } from '../config/settings.ts';
import { createLog } from './api/log.ts';
import { startGateway, type Gateway } from './gateway.ts';
import { welcome } from './welcome.ts';

let settings: Settings;
try {
  settings = readSettings();
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
  console.error(error.message);
  process.exit(2);
}

const log = createLog({ level: settings.logLevel });
let gateway: Gateway;
try {
  gateway = await startGateway(settings, log);
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
