import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { ApiError } from '../../api/errors.ts';
import { MAX_IMPORTED } from './schema.ts';

/** A lead to be checked, or why its row is none. */
export type CsvRow = { index: number; lead: Record<string, unknown> } | { index: number; error: ApiError };

const REQUIRED = ['name', 'phone_number'];
const KNOWN = [...REQUIRED, 'tags', 'email', 'timezone', 'do_not_call'];
const DELIMITERS = [',', ';', '\t'];
const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false, 1: true, 0: false };
/** Parsed at once, before others have their turn: a few milliseconds. */
const SLICE_LENGTH = 128 * 1024;
/** No honest sheet is wider, and no honest row longer. */
const MAX_COLUMNS = 1000;
const MAX_ROW_LENGTH = 1024 * 1024;

/**
 * The rows under the header. Rows without any value are passed over, but counted, so that a row keeps its place in the
 * sheet. Throws ApiError `invalid_csv`, or `invalid_parameter` for too many.
 */
export async function readCsv(text: string): Promise<CsvRow[]> {
  if (text.includes('\ufffd')) throw new ApiError('invalid_csv', 'The CSV is not UTF-8. Save it as "CSV UTF-8" and send it again.');
  const parser = Readable.from(slicesOf(text)).pipe(parse({ bom: true, delimiter: delimiterOf(text), trim: true, relax_quotes: true, relax_column_count: true, max_record_size: MAX_ROW_LENGTH }));
  let header: string[] | undefined;
  let index = -1;
  const rows: CsvRow[] = [];
  try {
    for await (const cells of parser as AsyncIterable<string[]>) {
      if (!header) {
        header = headerOf(cells);
        continue;
      }
      index++;
      if (cells.every((cell) => cell === '')) continue;
      if (rows.length === MAX_IMPORTED) throw new ApiError('invalid_parameter', `An import takes at most ${MAX_IMPORTED} leads; split it.`, { param: 'leads' });
      rows.push(rowOf(index, header, cells));
    }
  } catch (error) {
    if (error instanceof CsvError) throw new ApiError('invalid_csv', `The CSV cannot be read: ${error.message}.`, { cause: error });
    throw error;
  }
  if (!header) throw new ApiError('invalid_csv', 'The CSV is empty; its first row names the columns.');
  return rows;
}

async function* slicesOf(text: string): AsyncGenerator<string> {
  for (let from = 0; from < text.length; from += SLICE_LENGTH) {
    yield text.slice(from, from + SLICE_LENGTH);
    await nextTurn();
  }
}

/** Spreadsheets write semicolons or tabs where the comma is the decimal sign. */
function delimiterOf(text: string): string {
  const [header = ''] = text.slice(0, SLICE_LENGTH).split(/\r?\n|\r/, 1);
  const count = (delimiter: string): number => header.split(delimiter).length;
  return DELIMITERS.reduce((best, delimiter) => (count(delimiter) > count(best) ? delimiter : best));
}

function headerOf(cells: string[]): string[] {
  if (cells.length > MAX_COLUMNS) throw new ApiError('invalid_csv', `The header row names ${cells.length} columns; a CSV may have ${MAX_COLUMNS}.`);
  const names = cells.map((cell) => (KNOWN.includes(cell.toLowerCase()) ? cell.toLowerCase() : cell));
  while (names.at(-1) === '') names.pop();
  const missing = REQUIRED.find((name) => !names.includes(name));
  if (missing !== undefined) throw new ApiError('invalid_csv', `The header row must name the columns of the CSV; it has no ${missing}.`);
  const twice = names.find((name, position) => names.indexOf(name) !== position);
  if (twice !== undefined) throw new ApiError('invalid_csv', `The header row names ${twice === '' ? 'several columns nothing' : `${twice} twice`}.`);
  if (names.includes('')) throw new ApiError('invalid_csv', `Column ${names.indexOf('') + 1} of the CSV has no name.`);
  return names;
}

function rowOf(index: number, header: string[], cells: string[]): CsvRow {
  if (cells.slice(header.length).some((cell) => cell !== '')) {
    return { index, error: new ApiError('invalid_csv', `leads[${index}] has more cells than the header row; quote what holds the delimiter.`, { param: `leads[${index}]` }) };
  }
  const filled = header.map((name, position) => [name, cells[position] ?? ''] as const).filter(([, cell]) => cell !== '');
  const lead = Object.fromEntries(filled.filter(([name]) => KNOWN.includes(name)).map(([name, cell]) => [name, valueOf(name, cell)]));
  const others = filled.filter(([name]) => !KNOWN.includes(name));
  return { index, lead: others.length === 0 ? lead : { ...lead, fields: Object.fromEntries(others) } };
}

/** What is no boolean stays text, and is refused as such. */
function valueOf(name: string, cell: string): unknown {
  if (name === 'tags') return cell.split(/[;|]/).map((tag) => tag.trim()).filter((tag) => tag !== '');
  return name === 'do_not_call' ? (BOOLEANS[cell.toLowerCase()] ?? cell) : cell;
}
