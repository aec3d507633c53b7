// The interface to the disk and to other programs (exec credentials), so that tests can rotate a token in memory.

export interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Files {
  /** Rejects with an error that has the system's `code` (`ENOENT`, `EACCES`, …). */
  read(path: string): Promise<string>;
  /** A text that changes when the content may have changed; undefined when the file does not exist. */
  version(path: string): Promise<string | undefined>;
  /** Atomic. Creates the folder, with access for this user only, if it does not exist. */
  write(path: string, content: string | Uint8Array, mode: number): Promise<void>;
  run(
    command: readonly string[],
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<ProgramResult>;
}
