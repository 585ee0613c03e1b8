import { parseArgs } from 'node:util'
import { OptionsError } from '@tenure/core'
import type { TimingOptions } from '@tenure/core/internal'
import type { CreateManagerOptions } from 'tenure'

/** What `tenure exec` does after a term has ended while it was not told to stop. */
export type OnLoss = 'exit' | 'restart'

/** A command line of `tenure exec`. */
export interface ExecOptions {
  readonly file: string
  readonly args: readonly string[]
  readonly onLoss: OnLoss
  /** The environment of this process, which the program inherits. */
  readonly env: NodeJS.ProcessEnv
  readonly logLevel: string
  readonly timing: Pick<TimingOptions, 'leaseDurationMs' | 'drainTimeoutMs' | 'abortGraceMs'>
  readonly manager: CreateManagerOptions
}

/** The flags of Tenure that `createManager()` reads itself. */
const TENURE_FLAGS = [
  'lease',
  'namespace',
  'identity',
  'revision',
  'zone',
  'feature-gates',
  'ops-port',
  'log-level',
  'kubeconfig',
] as const

/** The flag of each option that is a number. */
const NUMBERS = {
  leaseDurationMs: 'lease-duration-ms',
  drainTimeoutMs: 'drain-timeout-ms',
  abortGraceMs: 'abort-grace-ms',
  maxRestarts: 'max-restarts',
} as const

const FLAGS: Readonly<Record<string, { readonly type: 'string' }>> = Object.fromEntries(
  [...TENURE_FLAGS, 'on-loss', ...Object.values(NUMBERS)].map((flag) => [flag, { type: 'string' }]),
)

/** Reads the command line. @throws OptionsError naming the wrong flag. @throws TypeError for an unknown flag. */
export function execOptions(argv: readonly string[], env: NodeJS.ProcessEnv): ExecOptions {
  const end = argv.indexOf('--')
  const own = end < 0 ? argv : argv.slice(0, end)
  const values: Readonly<Record<string, string | undefined>> = parseArgs({ args: [...own], options: FLAGS }).values
  const [file, ...args] = end < 0 ? [] : argv.slice(end + 1)
  if (file === undefined || file === '') {
    throw new OptionsError('Expected a command after `--`, as in `tenure exec --lease NAME -- COMMAND`, got none')
  }
  const { maxRestarts, ...timing } = numbersOf(values)
  const hasPort = values['ops-port'] !== undefined || Boolean(env['TENURE_OPS_PORT'])
  return {
    file,
    args,
    env,
    onLoss: onLossOf(values['on-loss']),
    logLevel: values['log-level'] ?? (env['TENURE_LOG_LEVEL'] || 'info'),
    timing,
    manager: {
      lease: timing,
      argv: TENURE_FLAGS.flatMap((flag) => (values[flag] === undefined ? [] : [`--${flag}=${values[flag]}`])),
      env,
      ...(!hasPort && { ops: false }),
      ...(maxRestarts !== undefined && { restart: { maxRestarts } }),
    },
  }
}

function onLossOf(text = 'restart'): OnLoss {
  if (text === 'exit' || text === 'restart') return text
  throw new OptionsError(`Expected \`--on-loss\` to be exit or restart, got \`${text}\``)
}

type Numbers = { readonly [option in keyof typeof NUMBERS]?: number }

function numbersOf(values: Readonly<Record<string, string | undefined>>): Numbers {
  const given = Object.entries(NUMBERS).flatMap(([option, flag]) => {
    const text = values[flag]
    if (text === undefined) return []
    if (/^\d{1,9}$/.test(text)) return [[option, Number(text)] as const]
    throw new OptionsError(`Expected \`--${flag}\` to be a whole number, got \`${text}\``)
  })
  return Object.fromEntries(given)
}
