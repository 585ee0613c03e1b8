import { compareVersions, isVersion } from '../election/rules/semver.ts'
import { BUILT_IN_STRATEGIES, type Strategy, areAttributes } from '../election/rules/strategy.ts'
import { nearestName } from '../options/known-keys.ts'
import { assertOneOf } from '../options/one-of.ts'
import { OptionsError } from '../options/options-error.ts'
import type { LeaseOptions } from './lease-options.ts'

/** The options that mean something only beside `strategy`. */
const BESIDE_STRATEGY = [
  'strategyVersion',
  'compare',
  'binaryVersion',
  'emulationVersion',
  'attributes',
  'coordination',
] as const satisfies (keyof LeaseOptions)[]

/** A DNS subdomain, and a name as Kubernetes allows it after the slash. */
const OWN_STRATEGY =
  /^(?=.{1,253}\/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/

const A_VERSION = 'a version such as `1.36.0`'

/** Checks and fills in what a lease says about its strategy; undefined without one. @throws OptionsError that names the wrong option. */
export function resolveStrategy(lease: LeaseOptions): Strategy | undefined {
  const { strategy, compare, strategyVersion = 1, binaryVersion, attributes } = lease
  if (strategy === undefined) {
    assertNoneWithoutStrategy(lease)
    return undefined
  }
  assertStrategyName(strategy)
  assertCompare(lease, strategy)
  assertVersions(lease, strategy)
  assertAttributes(attributes)
  assertCoordination(lease, strategy)
  const emulationVersion = lease.emulationVersion ?? binaryVersion
  return { name: strategy, version: strategyVersion, compare, binaryVersion, emulationVersion }
}

function assertNoneWithoutStrategy(lease: LeaseOptions): void {
  const beside = BESIDE_STRATEGY.find((name) => lease[name] !== undefined)
  if (beside === undefined) return
  throw new OptionsError(`Expected \`lease.strategy\` beside \`lease.${beside}\`, which means nothing without it`)
}

function assertStrategyName(strategy: unknown): void {
  if (isBuiltIn(strategy) || (typeof strategy === 'string' && OWN_STRATEGY.test(strategy))) return
  const expected = `\`lease.strategy\` to be ${BUILT_IN_STRATEGIES.join(', ')} or a name of your own such as \`example.com/mine\``
  const isName = typeof strategy === 'string' && strategy !== '' && !strategy.includes('/')
  const remedy = isName ? { remedy: `Did you mean \`${nearestName(strategy, BUILT_IN_STRATEGIES)}\`?` } : {}
  throw OptionsError.expected(expected, strategy, remedy)
}

function assertCompare({ compare, strategyVersion }: LeaseOptions, strategy: string): void {
  if (isBuiltIn(strategy)) {
    const beside = compare === undefined ? 'strategyVersion' : 'compare'
    if (compare === undefined && strategyVersion === undefined) return
    throw new OptionsError(
      `Expected no \`lease.${beside}\` beside \`lease.strategy: '${strategy}'\`, which is built in. Name a strategy of your own such as \`example.com/mine\``,
    )
  }
  if (typeof compare !== 'function') {
    const expected = `\`lease.compare\` to be a function of two candidates, since \`${strategy}\` is not built in`
    throw OptionsError.expected(expected, compare)
  }
  const isWhole = Number.isSafeInteger(strategyVersion ?? 1) && (strategyVersion ?? 1) > 0
  if (!isWhole) throw OptionsError.expected('`lease.strategyVersion` to be a whole number from 1', strategyVersion)
}

function assertVersions({ binaryVersion, emulationVersion }: LeaseOptions, strategy: string): void {
  if (binaryVersion === undefined && isBuiltIn(strategy)) {
    throw OptionsError.expected(
      `\`lease.binaryVersion\` to be ${A_VERSION}, which \`${strategy}\` needs`,
      binaryVersion,
    )
  }
  for (const [name, value] of Object.entries({ binaryVersion, emulationVersion })) {
    if (value !== undefined && !isVersion(value))
      throw OptionsError.expected(`\`lease.${name}\` to be ${A_VERSION}`, value)
  }
  if (emulationVersion === undefined) return
  if (binaryVersion === undefined) {
    throw new OptionsError('Expected `lease.binaryVersion` beside `lease.emulationVersion`')
  }
  if (compareVersions(emulationVersion, binaryVersion) <= 0) return
  throw OptionsError.expected(
    `\`lease.emulationVersion\` to be at most \`lease.binaryVersion\`, \`${binaryVersion}\``,
    emulationVersion,
  )
}

function assertAttributes(attributes: unknown): void {
  if (attributes === undefined || typeof attributes === 'function' || areAttributes(attributes)) return
  throw OptionsError.expected(
    '`lease.attributes` to be an object of texts, numbers and booleans of at most 512 characters as JSON, or a function that returns one',
    attributes,
  )
}

function assertCoordination(
  { coordination, binaryVersion, emulationVersion = binaryVersion }: LeaseOptions,
  strategy: string,
): void {
  assertOneOf('lease.coordination', coordination, ['auto', 'peers', 'server'])
  if (coordination !== 'server') return
  if (strategy === 'OldestEmulationVersion') {
    if (emulationVersion === undefined || compareVersions(emulationVersion, '0.0.0') !== 0) return
    const expected =
      "`lease.emulationVersion` to be above `0.0.0` beside `lease.coordination: 'server'`, since the API server refuses it"
    throw OptionsError.expected(expected, emulationVersion)
  }
  throw new OptionsError(
    `Expected \`lease.strategy: 'OldestEmulationVersion'\` beside \`lease.coordination: 'server'\`, got \`${strategy}\`: ` +
      'the API server knows no other strategy',
  )
}

function isBuiltIn(strategy: unknown): boolean {
  return BUILT_IN_STRATEGIES.some((name) => name === strategy)
}
