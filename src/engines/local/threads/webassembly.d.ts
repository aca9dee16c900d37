/** The part of WebAssembly's JavaScript API that Flite needs; TypeScript has it only in its `dom` library, which is not for a server. */
declare namespace WebAssembly {
  class Module {
    private readonly brand: 'module';
  }
  class Memory {
    readonly buffer: ArrayBuffer;
  }
  class Instance {
    constructor(module: Module, imports: Imports);
    readonly exports: Record<string, unknown>;
  }
  type Imports = Record<string, Record<string, (...parameters: never[]) => unknown>>;
  function compile(bytes: Uint8Array): Promise<Module>;
}
