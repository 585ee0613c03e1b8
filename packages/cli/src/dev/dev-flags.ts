import { OptionsError } from '@tenure/core'
import { CANNOT_START, whyNotStartable } from '../exec/find-program.ts'
import { durationFlag } from '../step-down/timeout-flag.ts'

/** More replicas than this would not show anything else, and slow a machine down. */
const MOST_REPLICAS = 50

/** The port of the page, so that an open page works again after a restart. */
export const PAGE_PORT = 8368

/** The flags of `tenure dev`, as given. */
export interface DevFlags {
  readonly port?: string
  readonly file?: string
  readonly kubeconfig?: string
  readonly replicas?: string
  /** `true` for the working directory. */
  readonly watch?: readonly (string | true)[]
  readonly stopTimeout: string
  readonly pagePort?: string
}

/** The program of `tenure dev`. */
export interface DevProgram {
  readonly file: string
  readonly args: readonly string[]
  readonly replicas: number
  readonly stopTimeoutMs: number
  readonly watch: readonly string[]
}

/** Reads a TCP port. @throws OptionsError */
export function portFlag(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (port >= 0 && port <= 65_535) return port
  throw new OptionsError(`Expected \`${flag}\` to be a TCP port between 0 and 65535, got \`${text}\``)
}

/** Reads what to run; undefined for the API server alone. @throws OptionsError naming the wrong flag, or the missing program */
export function devProgram(
  command: readonly string[],
  flags: DevFlags,
  path: string | undefined,
): DevProgram | undefined {
  const [file, ...args] = command
  const replicas = replicasFlag(flags.replicas)
  const stopTimeoutMs = durationFlag('--stop-timeout', flags.stopTimeout)
  if (file === undefined) {
    const flag = flags.replicas === undefined ? flags.watch && '--watch' : '--replicas'
    if (flag === undefined) return undefined
    throw new OptionsError(
      `Expected a command after \`${flag}\`, as in \`tenure dev ${flag}${flag === '--watch' ? '' : ' 3'} -- node main.js\``,
    )
  }
  const why = whyNotStartable(file, path)
  if (why !== undefined) {
    const expected = why === CANNOT_START.notFound ? 'there is no such program' : 'it is not an executable file'
    throw new OptionsError(`Could not start \`${file}\`: ${expected}`)
  }
  const watch = (flags.watch ?? []).map((each) => (each === true ? '.' : each))
  return { file, args, replicas, stopTimeoutMs, watch }
}

function replicasFlag(text: string | undefined): number {
  if (text === undefined) return 1
  const replicas = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (replicas >= 1 && replicas <= MOST_REPLICAS) return replicas
  throw new OptionsError(`Expected \`--replicas\` to be a whole number from 1 to ${MOST_REPLICAS}, got \`${text}\``)
}
