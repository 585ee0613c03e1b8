import { createRequire } from 'node:module'
import { join } from 'node:path'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker, TrackerContext } from '../tracker.ts'
import { unobserved } from '../unobserved.ts'
import { noteFirstSight, trackRegistration } from './registrations.ts'

/** What is asked of a registry of prom-client. */
interface MetricRegistry {
  registerMetric(metric: Metric): void
  getSingleMetric(name: string): Metric | undefined
  getMetricsAsArray(): readonly Metric[]
}

interface Metric {
  readonly name: string
}

interface RegistryClass {
  readonly prototype: MetricRegistry
  readonly globalRegistry?: object
}

const { cache } = createRequire(import.meta.url)
const REGISTRY_MODULE = /[\\/]prom-client[\\/]lib[\\/]registry\.js$/

/** Metrics in registries of prom-client, in every copy of it that the project has loaded. Not a dependency: without it, nothing. */
export const trackMetrics: Tracker = (context) =>
  undoAll(unobserved(loadedRegistries).map((registry) => watchRegistry(context, registry)))

/** The last search, which is repeated only in another folder or when more modules are loaded. */
let search:
  { readonly folder: string; readonly modules: number; readonly registries: readonly RegistryClass[] } | undefined

function loadedRegistries(): readonly RegistryClass[] {
  const folder = process.cwd()
  if (search?.folder !== folder) loadFrom(folder)
  const modules = Object.keys(cache).length
  if (search?.folder !== folder || search.modules !== modules) search = { folder, modules, registries: registries() }
  return search.registries
}

function loadFrom(folder: string): void {
  try {
    void createRequire(join(folder, 'package.json'))('prom-client')
  } catch {
    // The project does not use it. One of its dependencies may still have a copy.
  }
}

function registries(): readonly RegistryClass[] {
  return Object.values(cache).flatMap((module) =>
    module !== undefined && REGISTRY_MODULE.test(module.filename) ? [module.exports as RegistryClass] : [],
  )
}

function watchRegistry(context: TrackerContext, { prototype, globalRegistry }: RegistryClass): Undo {
  return replaceProperty(
    prototype,
    'registerMetric',
    (original) =>
      function registerMetric(this: MetricRegistry, metric: Metric) {
        if (this !== globalRegistry) noteFirstSight(context, this, this.getMetricsAsArray().length === 0)
        original.call(this, metric)
        track(context, this, metric)
      },
  )
}

/** A metric knows its registries, so nothing here may hold it. */
function track(context: TrackerContext, registry: MetricRegistry, metric: Metric): void {
  const { name } = metric
  const ref = new WeakRef(metric)
  trackRegistration(context, {
    registry,
    isRegistered: (registry) => isServed(registry as MetricRegistry, name, ref.deref()),
    describe: () => ({ kind: 'metric', detail: `\`${name}\`` }),
  })
}

/** A registry that has ended refuses to be asked. */
function isServed(registry: MetricRegistry, name: string, metric: Metric | undefined): boolean {
  try {
    return metric !== undefined && registry.getSingleMetric(name) === metric
  } catch {
    return false
  }
}
