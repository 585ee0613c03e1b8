import { OptionsError } from '@tenure/core'
import { manifests, toYaml } from '@tenure/kubernetes'

/** Flags of `tenure manifests`, as given. */
export interface ManifestsFlags {
  readonly name?: string
  readonly namespace?: string
  readonly image?: string
  readonly replicas?: string
  readonly lease?: readonly string[]
  readonly 'ops-port'?: string
  readonly 'drain-timeout-ms'?: string
  readonly 'abort-grace-ms'?: string
  readonly 'cleanup-timeout-ms'?: string
  readonly 'prove-death'?: boolean
  readonly strategy?: string
  readonly members?: boolean
  readonly endpoints?: string
}

/** Returns the YAML that `tenure manifests` prints. @throws OptionsError naming the invalid flag or option. */
export function manifestsText(flags: ManifestsFlags): string {
  const numbers = {
    replicas: numberOf(flags, 'replicas'),
    opsPort: numberOf(flags, 'ops-port'),
    drainTimeoutMs: numberOf(flags, 'drain-timeout-ms'),
    abortGraceMs: numberOf(flags, 'abort-grace-ms'),
    cleanupTimeoutMs: numberOf(flags, 'cleanup-timeout-ms'),
  }
  const objects = manifests({
    name: required(flags, 'name'),
    namespace: required(flags, 'namespace'),
    image: required(flags, 'image'),
    others: flags.lease ?? [],
    proveDeath: flags['prove-death'] ?? false,
    members: flags.members ?? false,
    ...(flags.strategy !== undefined && { strategy: flags.strategy }),
    ...(flags.endpoints !== undefined && { endpoints: flags.endpoints }),
    ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined)),
  })
  return toYaml(objects)
}

function required(flags: ManifestsFlags, flag: 'name' | 'namespace' | 'image'): string {
  const value = flags[flag]
  if (value !== undefined) return value
  throw new OptionsError(`Expected \`--${flag}\` to be given, got none`)
}

function numberOf(
  flags: ManifestsFlags,
  flag: 'replicas' | 'ops-port' | 'drain-timeout-ms' | 'abort-grace-ms' | 'cleanup-timeout-ms',
): number | undefined {
  const text = flags[flag]
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new OptionsError(`Expected \`--${flag}\` to be a whole number, got \`${text}\``)
}
