/** Where a command reads its surroundings from and writes to. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Width of the terminal that `out` writes to; undefined: it is none. */
  readonly columns?: number | undefined;
  /** Whether `err` writes to a terminal. */
  readonly errIsTerminal?: boolean;
}

/** The terminal (or pipes) of this process. */
export const processTerminal: Terminal = {
  out: (text) => {
    process.stdout.write(text);
  },
  err: (text) => {
    process.stderr.write(text);
  },
  env: process.env,
  get columns() {
    return process.stdout.isTTY ? process.stdout.columns || 80 : undefined;
  },
  errIsTerminal: process.stderr.isTTY === true,
};

/** Exit statuses: 0 fine, 1 failed, 2 usage or configuration. */
export type ExitCode = number;

/** Ends a command with one line that says what is wrong and what helps. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The `code` of a system error, also when another error is wrapped around it. */
export function systemCode(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  return undefined;
}
