import { constants } from 'node:os'
import { OptionsError } from '@tenure/core'
import type { TimingOptions } from '@tenure/core/internal'
import type { KubeConfigLike } from '@tenure/kubernetes'
import { findKubeConfig } from '@tenure/kubernetes/internal'
import type { CreateManagerOptions } from 'tenure'

/** The flags of `tenure exec`, as given. */
export interface ExecFlags {
  readonly lease?: string
  readonly namespace?: string
  readonly kubeconfig?: string
  readonly context?: string
  readonly onLoss: 'exit' | 'restart'
  readonly stopSignal?: string
  readonly maxRestarts?: string
  readonly opsPort?: string
  readonly leaseDurationMs?: string
  readonly drainTimeoutMs?: string
  readonly abortGraceMs?: string
  readonly identity?: string
  readonly revision?: string
  readonly zone?: string
  readonly featureGates?: string
  readonly logLevel?: string
}

/** What to run. */
export interface ExecCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly flags: ExecFlags
}

/** A command line of `tenure exec`. */
export interface ExecOptions {
  readonly file: string
  readonly args: readonly string[]
  /** What follows a term that was lost or given up. */
  readonly onLoss: ExecFlags['onLoss']
  /** What the program gets when its term begins to end. */
  readonly stopSignal: NodeJS.Signals
  /** The environment of this process, which the program inherits. */
  readonly env: NodeJS.ProcessEnv
  readonly logLevel: string
  readonly timing: Pick<TimingOptions, 'leaseDurationMs' | 'drainTimeoutMs' | 'abortGraceMs'>
  readonly manager: CreateManagerOptions
}

/** The flags that `createManager()` reads itself. */
const TENURE_FLAGS = {
  lease: 'lease',
  namespace: 'namespace',
  identity: 'identity',
  revision: 'revision',
  zone: 'zone',
  featureGates: 'feature-gates',
  opsPort: 'ops-port',
  logLevel: 'log-level',
  kubeconfig: 'kubeconfig',
} as const satisfies { readonly [flag in keyof ExecFlags]?: string }

/** The flag of each option that is a number. */
const NUMBERS = {
  leaseDurationMs: 'lease-duration-ms',
  drainTimeoutMs: 'drain-timeout-ms',
  abortGraceMs: 'abort-grace-ms',
  maxRestarts: 'max-restarts',
} as const satisfies { readonly [flag in keyof ExecFlags]?: string }

/** Reads the flags, and with `--context` the kubeconfig. @throws OptionsError naming the wrong flag; KubeConfigError */
export function execOptions({ file, args, flags }: ExecCommand, env: NodeJS.ProcessEnv): ExecOptions {
  if (file === '')
    throw new OptionsError('Expected the command to be the name or the path of a program, got an empty text')
  const { maxRestarts, ...timing } = numbersOf(flags)
  const hasPort = flags.opsPort !== undefined || Boolean(env['TENURE_OPS_PORT'])
  return {
    file,
    args,
    env,
    timing,
    onLoss: flags.onLoss,
    stopSignal: signalFlag(flags.stopSignal),
    logLevel: flags.logLevel ?? (env['TENURE_LOG_LEVEL'] || 'info'),
    manager: {
      env,
      lease: timing,
      argv: argvOf(flags),
      ...(flags.context !== undefined && { kubeConfig: kubeConfigOf(flags, env) }),
      ...(!hasPort && { ops: false }),
      ...(maxRestarts !== undefined && { restart: { maxRestarts } }),
    },
  }
}

function kubeConfigOf({ kubeconfig, context }: ExecFlags, env: NodeJS.ProcessEnv): KubeConfigLike {
  return findKubeConfig({
    env,
    ...(kubeconfig !== undefined && { kubeConfigPath: kubeconfig }),
    ...(context !== undefined && { context }),
  })
}

/** Reads the name of a signal that a program can handle, with or without `SIG`. @throws OptionsError */
function signalFlag(text: string | undefined): NodeJS.Signals {
  if (text === undefined) return 'SIGTERM'
  const name = `SIG${text.toUpperCase().replace(/^SIG/, '')}`
  const isKnown = (signal: string): signal is NodeJS.Signals => signal in constants.signals && !UNHANDLED.has(signal)
  if (isKnown(name)) return name
  throw new OptionsError(
    `Expected \`--stop-signal\` to be a signal that a program can handle, such as \`SIGINT\`, got \`${text}\``,
  )
}

/** They stop a program at once, or only pause it. */
const UNHANDLED: ReadonlySet<string> = new Set(['SIGKILL', 'SIGSTOP'])

function argvOf(flags: ExecFlags): readonly string[] {
  return Object.entries(TENURE_FLAGS).flatMap(([key, flag]) => {
    const value = flags[key as keyof typeof TENURE_FLAGS]
    return value === undefined ? [] : [`--${flag}=${value}`]
  })
}

type Numbers = { readonly [option in keyof typeof NUMBERS]?: number }

function numbersOf(flags: ExecFlags): Numbers {
  const given = Object.entries(NUMBERS).flatMap(([option, flag]) => {
    const text = flags[option as keyof typeof NUMBERS]
    if (text === undefined) return []
    if (/^\d{1,9}$/.test(text)) return [[option, Number(text)] as const]
    throw new OptionsError(`Expected \`--${flag}\` to be a whole number, got \`${text}\``)
  })
  return Object.fromEntries(given)
}
