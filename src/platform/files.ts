// The only way to the disk and to other programs (exec credentials), so that tests can rotate a token in memory.

export interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Files {
  /** Throws an error whose `code` is the system's (`ENOENT`, `EACCES`, …). */
  read(path: string): Promise<string>;
  /** Changes whenever the content may have changed; undefined when there is no such file. */
  version(path: string): Promise<string | undefined>;
  /** Whole or not at all. The folder is made (for us alone) if there is none. */
  write(path: string, content: string, mode: number): Promise<void>;
  run(
    command: readonly string[],
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<ProgramResult>;
}
