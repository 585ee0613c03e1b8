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

const REGISTRY_MODULE = /[\\/]prom-client[\\/]lib[\\/]registry\.js$/

/** Metrics in registries of prom-client, in every copy of it that the project has loaded. Not a dependency: without it, nothing. */
export const trackMetrics: Tracker = (context) =>
  undoAll(unobserved(loadedRegistries).map((registry) => watchRegistry(context, registry)))

function loadedRegistries(): readonly RegistryClass[] {
  const require = createRequire(join(process.cwd(), 'package.json'))
  try {
    void require('prom-client')
  } catch {
    // The project does without it; one of its dependencies may have a copy all the same.
  }
  return Object.values(require.cache).flatMap((module) =>
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
