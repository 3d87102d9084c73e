/** What one check has found. `fail`: it will not work; `warn`: it may surprise. */
export interface Finding {
  readonly check: string;
  readonly level: 'ok' | 'warn' | 'fail';
  readonly text: string;
  /** What helps. */
  readonly fix?: string;
}

/** Makes the findings of one check. */
export function findings(check: string) {
  return {
    ok: (text: string): Finding => ({ check, level: 'ok', text }),
    warn: (text: string, fix: string): Finding => ({ check, level: 'warn', text, fix }),
    fail: (text: string, fix: string): Finding => ({ check, level: 'fail', text, fix }),
  };
}
