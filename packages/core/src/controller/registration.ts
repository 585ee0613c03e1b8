import { isA } from '../error-of.ts'
import { OptionsError } from '../options/options-error.ts'
import { textOf } from '../text-of.ts'
import { Controller, type ControllerFactory } from './controller.ts'
import { type DurationRule, resolveDurationMs } from '../options/duration.ts'
import { assertKnownKeys } from '../options/known-keys.ts'
import { assertOneOf } from '../options/one-of.ts'
import { type ResolvedRestartOptions, type RestartOptions, resolveRestartOptions } from './restart-options.ts'
import { WARM_UP_MODES, type ControllerWarmUp, type WarmUpMode } from './warm-up.ts'

/** A registered factory with its resolved options. */
export interface Registration {
  readonly factory: ControllerFactory
  readonly restart: ResolvedRestartOptions
  /** Infinity if disabled. */
  readonly progressTimeoutMs: number
  readonly warmUp: WarmUpMode
  readonly warmUpTimeoutMs: number
}

/** Options of a controller. */
export interface RegisterOptions {
  /** How often this controller is restarted when it fails. @default the setting of the manager */
  readonly restart?: RestartOptions
  /**
   * A controller that does not call `term.progress()` within this time is unhealthy and ends the term.
   * @default disabled
   */
  readonly progressTimeoutMs?: number
  /** When the controller warms up, if it has a `warmUp`. @default 'never' */
  readonly warmUp?: WarmUpMode
  /**
   * How long a new leader waits for an unfinished warm-up. Then it cancels the warm-up and builds a new controller. In milliseconds.
   * @default 5000
   */
  readonly warmUpTimeoutMs?: number
}

/** The names of all {@link RegisterOptions}. */
export const REGISTER_OPTION_NAMES: readonly (keyof RegisterOptions)[] = [
  'restart',
  'progressTimeoutMs',
  'warmUp',
  'warmUpTimeoutMs',
]

/** Fills in defaults. @throws OptionsError for a factory that is not a function, or a wrong option. */
export function createRegistration(
  factory: ControllerFactory,
  options: RegisterOptions,
  defaultRestart: ResolvedRestartOptions,
): Registration {
  if (typeof factory !== 'function' || isClass(factory)) {
    throw notAFactory(factory)
  }
  assertKnownKeys('`register()`', options, REGISTER_OPTION_NAMES)
  assertOneOf('warmUp', options.warmUp, WARM_UP_MODES)
  const duration = (name: 'progressTimeoutMs' | 'warmUpTimeoutMs', rule: DurationRule): number =>
    resolveDurationMs(name, options[name], rule)
  return {
    factory,
    restart: options.restart === undefined ? defaultRestart : resolveRestartOptions(options.restart),
    progressTimeoutMs: duration('progressTimeoutMs', { fallback: Infinity }),
    warmUp: options.warmUp ?? 'never',
    warmUpTimeoutMs: duration('warmUpTimeoutMs', { fallback: 5000, min: 0 }),
  }
}

/** The most likely mistake: a class in place of a function that builds an instance. */
function isClass(value: object): boolean {
  const prototype: unknown = Reflect.get(value, 'prototype')
  const hasRun = typeof prototype === 'object' && prototype !== null && 'run' in prototype
  return hasRun || /^class\b/.test(Function.prototype.toString.call(value))
}

function notAFactory(given: unknown): OptionsError {
  const what = '`register()` to be given a function that builds a controller'
  const type: unknown = typeof given === 'object' && given !== null ? given.constructor : given
  const name = typeof type === 'function' && type !== Object && type.name !== '' ? type.name : 'MyController'
  const remedy = `Write \`register(() => new ${name}())\``
  if (typeof given === 'function') return new OptionsError(`Expected ${what}, got the class \`${name}\`. ${remedy}`)
  return OptionsError.expected(what, given, { remedy })
}

/** A controller that was built for its first run, or the reason why that failed. */
export type FirstBuild =
  | {
      readonly kind: 'built'
      readonly registration: Registration
      readonly controller: Controller
      /** The name at the time of the check. A getter may return another value later. */
      readonly name: string
      /** Set if the controller was built before the term. */
      readonly warmUp?: ControllerWarmUp
    }
  | { readonly kind: 'failed'; readonly registration: Registration; readonly name: string; readonly error: unknown }

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/**
 * Builds the first instance of every controller and checks them together.
 *
 * A factory that throws is tried again later, like any failure. A problem that a restart cannot fix throws.
 * @throws OptionsError when a factory does not return a new controller, or a name is missing, malformed or taken.
 */
export function buildAll(
  registrations: readonly Registration[],
  seen: WeakSet<Controller>,
  warmUps: ReadonlyMap<Registration, ControllerWarmUp> = new Map(),
): readonly FirstBuild[] {
  const builds = registrations.map((registration, index): FirstBuild => {
    const warmUp = warmUps.get(registration)
    if (warmUp === undefined) return build(registration, index, seen)
    return { kind: 'built', registration, controller: warmUp.controller, name: warmUp.name, warmUp }
  })
  const names = new Set<string>()
  for (const build of builds) {
    if (build.kind === 'failed') continue
    const { name } = build
    if (names.has(name)) {
      throw new OptionsError(`Expected the controllers of a lease to have different names, got \`${name}\` twice`)
    }
    names.add(name)
  }
  return builds
}

/**
 * Builds a controller for a later run.
 * @throws OptionsError when it is not a new instance.
 */
export function buildNext(registration: Pick<Registration, 'factory'>, seen: WeakSet<Controller>): Controller {
  return buildNamed(registration, seen).controller
}

/** Like {@link buildNext}, with the name of the controller. */
export function buildNamed(
  { factory }: Pick<Registration, 'factory'>,
  seen: WeakSet<Controller>,
): { readonly controller: Controller; readonly name: string } {
  const controller: unknown = factory()
  assertController(controller)
  const name = usableName(controller)
  if (seen.has(controller)) {
    throw new OptionsError(
      `Expected the factory of controller \`${name}\` to build a new instance for every run, but it returned the same one ` +
        'again: state of one term would leak into the next',
    )
  }
  seen.add(controller)
  return { controller, name }
}

function build(registration: Registration, index: number, seen: WeakSet<Controller>): FirstBuild {
  try {
    return { kind: 'built', registration, ...buildNamed(registration, seen) }
  } catch (error) {
    if (isA(error, OptionsError)) throw error
    return { kind: 'failed', registration, name: `controller-${index + 1}`, error }
  }
}

function assertController(controller: unknown): asserts controller is Controller {
  if (typeof controller !== 'object' || controller === null || typeof Reflect.get(controller, 'run') !== 'function') {
    throw OptionsError.expected(`the factory to return a \`Controller\``, controller)
  }
}

function usableName(controller: Controller): string {
  const name: unknown = controller.name
  if (typeof name === 'string' && NAME.test(name)) return name
  const { constructor } = controller
  const from = `It is the name of a \`${textOf(constructor?.name)}\``
  throw OptionsError.expected(`the \`name\` of a controller to match ${NAME.source}`, name, { remedy: from })
}
