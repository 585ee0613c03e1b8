import { parseArgs } from 'node:util'

/** What the command line asks for. */
export interface DemoOptions {
  /** Use this server instead of an embedded one. */
  readonly kubeConfigPath: string | undefined
  /** Stay up after the tour. */
  readonly keep: boolean
  /** Pause for shorter times between the steps of the tour. */
  readonly quick: boolean
  /** Write the figures to this file. */
  readonly jsonPath: string | undefined
}

export const USAGE = `Usage: npm run demo -- [options]

Three replica processes hand one lease to each other: a tour of about 30 seconds.

Options:
  --kubeconfig PATH  use the API server of this kubeconfig, in a namespace of its own (default: an embedded API server)
  --keep             stay up after the tour; in a terminal, keys make things happen
  --quick            shorter pauses between the steps of the tour
  --json FILE        write the figures to this file
  --help             show this

Exit code: 0 when everything happened, with no overlap and no leak; 1 otherwise; 2 for options that cannot be used.
`

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Reads the command line. Undefined when help is asked for. @throws UsageError for anything that is not an option */
export function parseOptions(argv: readonly string[]): DemoOptions | undefined {
  const values = parse(argv)
  if (values.help) return undefined
  return { kubeConfigPath: values.kubeconfig, keep: values.keep, quick: values.quick, jsonPath: values.json }
}

function parse(argv: readonly string[]): ReturnType<typeof parseKnown> {
  try {
    return parseKnown(argv)
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

function parseKnown(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    options: {
      kubeconfig: { type: 'string' },
      keep: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  }).values
}
