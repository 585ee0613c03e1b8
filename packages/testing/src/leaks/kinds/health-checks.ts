import { type HealthCheck, HealthProbe, HealthRegistry } from '@tenure/core'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker, TrackerContext } from '../tracker.ts'
import { noteFirstSight, trackRegistration } from './registrations.ts'

/** Health checks in registries, and registries in probes, that were not taken out again. */
export const trackHealthChecks: Tracker = (context) => undoAll([watchRegister(context), watchAdd(context)])

function watchRegister(context: TrackerContext): Undo {
  return replaceProperty(
    HealthRegistry.prototype,
    'register',
    (original) =>
      function register(this: HealthRegistry, name: string, check: HealthCheck) {
        noteFirstSight(context, this, this.names.length === 0)
        const takeOut = original.call(this, name, check)
        let isTakenOut = false
        trackRegistration(context, {
          registry: this,
          isRegistered: (registry) => !isTakenOut && (registry as HealthRegistry).names.includes(name),
          describe: () => ({ kind: 'health-check', detail: `\`${name}\`` }),
        })
        return () => {
          isTakenOut = true
          takeOut()
        }
      },
  )
}

function watchAdd(context: TrackerContext): Undo {
  return replaceProperty(
    HealthProbe.prototype,
    'add',
    (original) =>
      function add(this: HealthProbe, source, prefix) {
        noteFirstSight(context, this, this.names.length === 0)
        const takeOut = original.call(this, source, prefix)
        let isServed = true
        trackRegistration(context, {
          registry: this,
          isRegistered: () => isServed,
          describe: () => ({ kind: 'health-check', detail: `all of a registry, as \`${prefix ?? ''}*\`` }),
        })
        return () => {
          isServed = false
          takeOut()
        }
      },
  )
}
