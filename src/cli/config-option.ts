import type { Command } from 'commander';

/** The flag that every command has. */
export function withConfig(command: Command): Command {
  return command.option(
    '--config <file>',
    'the configuration (default: $FORBEAR_CONFIG, else proxy.config.yaml if it is here, else all defaults)',
  );
}
