import { type HealthCheck, HealthProbe, HealthRegistry } from '@tenure/core'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker, TrackerContext } from '../tracker.ts'
import { noteFirstSight, trackRegistration } from './registrations.ts'

/** Health checks in registries, and registries in probes, that were not removed. */
export const trackHealthChecks: Tracker = (context) => undoAll([watchRegister(context), watchAdd(context)])

function watchRegister(context: TrackerContext): Undo {
  return replaceProperty(
    HealthRegistry.prototype,
    'register',
    (original) =>
      function register(this: HealthRegistry, name: string, check: HealthCheck) {
        noteFirstSight(context, this, this.names.length === 0)
        const takeOut = original.call(this, name, check)
        return taking(takeOut, trackCheck(context, this, name))
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
        return taking(takeOut, trackSource(context, this, prefix ?? ''))
      },
  )
}

interface Registration {
  isThere: boolean
}

// What follows is apart from the above because closures hold all that any closure of their function holds: the functions that
// take a check out hold its registry, and the ledger must not.

function trackCheck(context: TrackerContext, registry: HealthRegistry, name: string): Registration {
  const registration = { isThere: true }
  trackRegistration(context, {
    registry,
    isRegistered: (registry) => registration.isThere && (registry as HealthRegistry).names.includes(name),
    describe: () => ({ kind: 'health-check', detail: `\`${name}\`` }),
  })
  return registration
}

function trackSource(context: TrackerContext, probe: HealthProbe, prefix: string): Registration {
  const registration = { isThere: true }
  trackRegistration(context, {
    registry: probe,
    isRegistered: () => registration.isThere,
    describe: () => ({ kind: 'health-check', detail: `all of a registry, as \`${prefix}*\`` }),
  })
  return registration
}

function taking(takeOut: () => void, registration: Registration): () => void {
  return () => {
    registration.isThere = false
    takeOut()
  }
}
