/**
 * The little of WASI (snapshot preview 1) that Flite's command line needs: arguments, one file to write, text to print.
 * Nothing outside this process is reachable: there is no file system behind it.
 */

const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const NO_ENTRY = 44;
const NOT_SEEKABLE = 70;

const STDOUT = 1;
const ROOT_FD = 3;
const OUTPUT_FD = 4;

const FILETYPE_CHARACTER_DEVICE = 2;
const FILETYPE_DIRECTORY = 3;
const FILETYPE_REGULAR = 4;
const OFLAGS_CREAT = 1;
const ALL_RIGHTS = 0xffff_ffff_ffff_ffffn;

/** How the program left, by `proc_exit`. */
export class WasiExit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`the program left with code ${code}`);
    this.name = 'WasiExit';
    this.code = code;
  }
}

/** A file that grows in memory, up to a limit. */
class MemoryFile {
  readonly #maxBytes: number;
  #bytes = new Uint8Array(256 * 1024);
  #length = 0;
  #position = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  write(chunk: Uint8Array): void {
    const end = this.#position + chunk.length;
    if (end > this.#maxBytes) throw new Error(`the speech is longer than ${this.#maxBytes} bytes`);
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes.set(chunk, this.#position);
    this.#position = end;
    this.#length = Math.max(this.#length, end);
  }

  /** `whence`: 0 from the start, 1 from here, 2 from the end. */
  seek(offset: number, whence: number): number {
    const base = [0, this.#position, this.#length][whence] ?? 0;
    this.#position = Math.max(0, base + offset);
    return this.#position;
  }

  content(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** One run of a program: bind `imports` to an instance, set `memory` and `args`, call its `_start`. */
export class FliteWasi {
  /** Set before `_start`: the instance's memory. */
  memory: WebAssembly.Memory | undefined;
  /** Set before `_start`: the command line, program name first. */
  args: string[] = [];
  readonly #output: MemoryFile;
  #printed = '';

  constructor(maxOutputBytes: number) {
    this.#output = new MemoryFile(maxOutputBytes);
  }

  /** What the program wrote to the one file it opened. */
  get output(): Uint8Array {
    return this.#output.content();
  }

  /** What the program printed. */
  get printed(): string {
    return this.#printed;
  }

  imports(): WebAssembly.Imports {
    return {
      wasi_snapshot_preview1: {
        args_sizes_get: (count: number, size: number) => this.#argsSizes(count, size),
        args_get: (pointers: number, buffer: number) => this.#argsGet(pointers, buffer),
        clock_time_get: (_id: number, _precision: bigint, at: number) => {
          this.#view().setBigUint64(at, process.hrtime.bigint(), true);
          return SUCCESS;
        },
        fd_close: () => SUCCESS,
        fd_fdstat_get: (fd: number, at: number) => this.#fdStat(fd, at),
        fd_fdstat_set_flags: () => SUCCESS,
        fd_prestat_get: (fd: number, at: number) => {
          if (fd !== ROOT_FD) return BAD_DESCRIPTOR;
          this.#view().setUint8(at, 0);
          this.#view().setUint32(at + 4, 1, true);
          return SUCCESS;
        },
        fd_prestat_dir_name: (_fd: number, at: number) => {
          this.#view().setUint8(at, '.'.charCodeAt(0));
          return SUCCESS;
        },
        fd_read: (_fd: number, _vectors: number, _count: number, read: number) => {
          this.#view().setUint32(read, 0, true);
          return SUCCESS;
        },
        fd_seek: (fd: number, offset: bigint, whence: number, at: number) => {
          if (fd !== OUTPUT_FD) return NOT_SEEKABLE;
          this.#view().setBigUint64(at, BigInt(this.#output.seek(Number(offset), whence)), true);
          return SUCCESS;
        },
        fd_write: (fd: number, vectors: number, count: number, written: number) => this.#write(fd, vectors, count, written),
        path_open: (...parameters: (number | bigint)[]) => this.#open(parameters),
        proc_exit: (code: number) => {
          throw new WasiExit(code);
        },
      },
    };
  }

  #view(): DataView {
    if (!this.memory) throw new Error('the memory of the instance is not bound');
    return new DataView(this.memory.buffer);
  }

  #encodedArgs(): Uint8Array[] {
    const encoder = new TextEncoder();
    return this.args.map((arg) => encoder.encode(`${arg}\0`));
  }

  #argsSizes(count: number, size: number): number {
    const args = this.#encodedArgs();
    this.#view().setUint32(count, args.length, true);
    this.#view().setUint32(size, args.reduce((sum, arg) => sum + arg.length, 0), true);
    return SUCCESS;
  }

  #argsGet(pointers: number, buffer: number): number {
    const view = this.#view();
    const bytes = new Uint8Array(view.buffer);
    let at = buffer;
    for (const [index, arg] of this.#encodedArgs().entries()) {
      view.setUint32(pointers + 4 * index, at, true);
      bytes.set(arg, at);
      at += arg.length;
    }
    return SUCCESS;
  }

  #fdStat(fd: number, at: number): number {
    const view = this.#view();
    const type = fd < ROOT_FD ? FILETYPE_CHARACTER_DEVICE : fd === ROOT_FD ? FILETYPE_DIRECTORY : FILETYPE_REGULAR;
    view.setUint8(at, type);
    view.setUint16(at + 2, 0, true);
    view.setBigUint64(at + 8, ALL_RIGHTS, true);
    view.setBigUint64(at + 16, ALL_RIGHTS, true);
    return SUCCESS;
  }

  #write(fd: number, vectors: number, count: number, written: number): number {
    const view = this.#view();
    let total = 0;
    for (let i = 0; i < count; i++) {
      const at = view.getUint32(vectors + 8 * i, true);
      const length = view.getUint32(vectors + 8 * i + 4, true);
      const chunk = new Uint8Array(view.buffer, at, length);
      if (fd === OUTPUT_FD) this.#output.write(chunk);
      else if (fd === STDOUT) this.#printed += Buffer.from(chunk).toString('latin1');
      total += length;
    }
    view.setUint32(written, total, true);
    return SUCCESS;
  }

  /** path_open(fd, dirflags, path, length, oflags, rights, inheriting, fdflags, result): only making a new file succeeds. */
  #open(parameters: (number | bigint)[]): number {
    const creates = (Number(parameters[4]) & OFLAGS_CREAT) !== 0;
    if (!creates) return NO_ENTRY;
    this.#view().setUint32(Number(parameters[8]), OUTPUT_FD, true);
    return SUCCESS;
  }
}
