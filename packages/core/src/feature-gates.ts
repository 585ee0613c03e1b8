import { nearestName } from './options/known-keys.ts'
import { OptionsError } from './options/options-error.ts'

/** A behaviour that can be switched on and off by name, as in Kubernetes components. */
export interface FeatureGate {
  /** Whether the behaviour is on. */
  readonly enabled: boolean
  /** How mature the behaviour is, in the stages of Kubernetes. Empty: stable. */
  readonly stage: 'ALPHA' | 'BETA' | ''
}

/**
 * The name of a feature gate.
 *
 * - `GracefulLeaderTransition`. On: a process that loses the lease drains and follows again. Off: it exits immediately.
 * - `ReleaseLockOnExit`. On: after the drain the lease is released. Off: it expires.
 */
export type FeatureGateName = 'GracefulLeaderTransition' | 'ReleaseLockOnExit'

const KNOWN: FeatureGates = {
  GracefulLeaderTransition: { enabled: true, stage: 'BETA' },
  ReleaseLockOnExit: { enabled: true, stage: 'BETA' },
}

/** Settings for some gates. The others keep their default. */
export type FeatureGateSettings = Partial<Readonly<Record<FeatureGateName, boolean>>>

/** Every gate with its setting. */
export type FeatureGates = Readonly<Record<FeatureGateName, FeatureGate>>

const NAMES: readonly FeatureGateName[] = ['GracefulLeaderTransition', 'ReleaseLockOnExit']

/**
 * Fills in the defaults of all gates (both are on).
 * @throws OptionsError for an unknown name, and for a value that is not a boolean.
 */
export function resolveFeatureGates(settings: FeatureGateSettings = {}): FeatureGates {
  if (typeof settings !== 'object' || settings === null) {
    throw OptionsError.expected(`\`featureGates\` to be an object such as \`{ ${NAMES[0]}: false }\``, settings)
  }
  for (const [name, value] of Object.entries(settings)) {
    assertKnown(name)
    if (typeof value !== 'boolean') {
      throw OptionsError.expected(`feature gate \`${name}\` to be true or false`, value)
    }
  }
  const gate = (name: FeatureGateName): FeatureGate => ({
    ...KNOWN[name],
    enabled: settings[name] ?? KNOWN[name].enabled,
  })
  return {
    GracefulLeaderTransition: gate('GracefulLeaderTransition'),
    ReleaseLockOnExit: gate('ReleaseLockOnExit'),
  }
}

/**
 * Parses the format of the `--feature-gates` flag of Kubernetes components: `A=true,B=false`.
 * @throws OptionsError for an unknown name or a value other than `true` and `false`.
 */
export function parseFeatureGates(text: string): FeatureGateSettings {
  const settings: Partial<Record<FeatureGateName, boolean>> = {}
  for (const item of text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')) {
    const [name = '', value] = item.split('=').map((part) => part.trim())
    assertKnown(name)
    if (value !== 'true' && value !== 'false') {
      throw OptionsError.expected(`feature gates in the form \`${NAMES[0]}=true,${NAMES[1]}=false\``, item)
    }
    settings[name] = value === 'true'
  }
  return settings
}

function assertKnown(name: string): asserts name is FeatureGateName {
  if (NAMES.some((known) => known === name)) return
  throw new OptionsError(`Unknown feature gate \`${name}\`; did you mean \`${nearestName(name, NAMES)}\`?`)
}
