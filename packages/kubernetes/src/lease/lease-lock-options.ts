import {
  ANNOTATION_PREFIX,
  assertKnownKeys,
  OptionsError,
  systemClock,
  systemRandom,
  type Clock,
  type Random,
} from '@tenure/core'
import { assertDnsLabel, assertDnsSubdomain } from '../config/dns-name.ts'
import type { KubeConfigSource } from '../transport/api-transport.ts'
import { defaultUserAgent } from '../transport/user-agent.ts'

/** Options of a LeaseLock. */
export interface LeaseLockOptions {
  /** How to reach the API server: a kubeconfig, or what gets one when the first request is made. */
  readonly kubeConfig: KubeConfigSource
  /** Name of the Lease. */
  readonly name: string
  /** Namespace of the Lease. It must exist. */
  readonly namespace: string
  /** Labels that the lease gets with every write, besides those it has. @default {} */
  readonly labels?: Readonly<Record<string, string>>
  /** Annotations that the lease gets with every write, besides those it has. None may start with `tenure.dev/`. @default {} */
  readonly annotations?: Readonly<Record<string, string>>
  /** @default 'tenure/<version> leader-election' */
  readonly userAgent?: string
  /**
   * Within this time a watch that went silent or a connection that went dead is noticed, in milliseconds. Twice the retry
   * period of the election is a good choice. @default 4000
   */
  readonly silenceMs?: number
  /** Times the reconnects of watches. @default the clock of this machine */
  readonly clock?: Clock
  /** Spreads the reconnects of watches. @default the random source of this process */
  readonly random?: Random
}

/** {@link LeaseLockOptions} with every default filled in. */
export type ResolvedLeaseLockOptions = Required<LeaseLockOptions>

const KEYS: readonly (keyof LeaseLockOptions)[] = [
  'kubeConfig',
  'name',
  'namespace',
  'labels',
  'annotations',
  'userAgent',
  'silenceMs',
  'clock',
  'random',
]

/** Checks all options and fills in the defaults. @throws OptionsError naming the option, its value and what was expected */
export function resolveLeaseLockOptions(options: LeaseLockOptions): ResolvedLeaseLockOptions {
  assertKnownKeys('the options of a LeaseLock', options, KEYS)
  assertDnsSubdomain('name', options.name)
  assertDnsLabel('namespace', options.namespace)
  for (const key of Object.keys(options.annotations ?? {})) {
    if (!key.startsWith(ANNOTATION_PREFIX)) continue
    throw new OptionsError(`Expected no key of \`annotations\` to start with \`${ANNOTATION_PREFIX}\`, got \`${key}\``)
  }
  const silenceMs = options.silenceMs ?? 4000
  if (!Number.isFinite(silenceMs) || silenceMs <= 0) {
    throw new OptionsError(`Expected \`silenceMs\` to be a positive number of milliseconds, got \`${silenceMs}\``)
  }
  return {
    kubeConfig: options.kubeConfig,
    name: options.name,
    namespace: options.namespace,
    labels: options.labels ?? {},
    annotations: options.annotations ?? {},
    userAgent: options.userAgent ?? defaultUserAgent(),
    silenceMs,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
  }
}
