import { syncBuiltinESMExports } from 'node:module'
import { Births } from './births.ts'
import { trackAsyncHooks } from './kinds/async-hooks.ts'
import { trackAsyncResources } from './kinds/async-resources.ts'
import { trackCallContext } from './kinds/call-context.ts'
import { trackDiagnosticsChannels } from './kinds/diagnostics-channels.ts'
import { trackDescendants } from './kinds/descendants.ts'
import { trackDirectoryHandles } from './kinds/directory-handles.ts'
import { trackEventEmitters } from './kinds/event-emitters.ts'
import { trackEventTargets } from './kinds/event-targets.ts'
import { trackFileDescriptors } from './kinds/file-descriptors.ts'
import { trackFileHandles } from './kinds/file-handles.ts'
import { trackFilesOnDisk } from './kinds/files-on-disk.ts'
import { trackHealthChecks } from './kinds/health-checks.ts'
import { trackMaxListeners } from './kinds/max-listeners.ts'
import { trackMetrics } from './kinds/metrics.ts'
import { trackPerformanceMonitors } from './kinds/performance-monitors.ts'
import { trackTerms } from './kinds/terms.ts'
import { trackInspectorSessions } from './kinds/inspector-sessions.ts'
import { trackModuleHooks } from './kinds/module-hooks.ts'
import { trackObjectUrls } from './kinds/object-urls.ts'
import { trackPendingWaits } from './kinds/pending-waits.ts'
import { trackPerformanceEntries } from './kinds/performance-entries.ts'
import { trackProcessSetters } from './kinds/process-setters.ts'
import { trackPromiseHooks } from './kinds/promise-hooks.ts'
import { trackNewGlobals } from './kinds/new-globals.ts'
import { trackStreamLocks } from './kinds/stream-locks.ts'
import { trackTemporaryDirectories } from './kinds/temporary-directories.ts'
import { trackUnreadableSettings } from './kinds/unreadable-settings.ts'
import { Ledger } from './ledger.ts'
import { Pools } from './pools.ts'
import { type Undo, undoAll } from './replace-property.ts'
import type { Tracker } from './tracker.ts'
import { unobserved } from './unobserved.ts'

const TRACKERS: readonly Tracker[] = [
  trackAsyncResources,
  trackAsyncHooks,
  trackEventEmitters,
  trackEventTargets,
  trackFileDescriptors,
  trackFileHandles,
  trackDirectoryHandles,
  trackPerformanceMonitors,
  trackDiagnosticsChannels,
  trackHealthChecks,
  trackMetrics,
  trackTerms,
  trackInspectorSessions,
  trackModuleHooks,
  trackPendingWaits,
  trackPerformanceEntries,
  trackProcessSetters,
  trackNewGlobals,
  trackUnreadableSettings,
  trackMaxListeners,
  trackPromiseHooks,
  trackTemporaryDirectories,
  trackFilesOnDisk,
  trackDescendants,
  trackObjectUrls,
  trackStreamLocks,
  trackCallContext,
]

interface Installation {
  readonly ledger: Ledger
  readonly pools: Pools
  readonly undo: Undo
  readonly watchers: Set<Recording>
}

/** The record of one watch: everything created after the watch began. */
export interface Recording {
  readonly ledger: Ledger
  readonly pools: Pools
  /** The first serial number that belongs to this watch. */
  readonly since: number
  /** Ends the recording. When the last recording ends, every patch is removed. */
  readonly end: () => void
}

// There is one process to patch. All watches that run at the same time share one installation.
let installation: Installation | undefined

/** Starts to record what this process creates. */
export function startRecording(): Recording {
  const { ledger, pools, watchers } = (installation ??= install())
  const recording: Recording = {
    ledger,
    pools,
    since: ledger.nextSerial(),
    end() {
      if (!watchers.delete(recording)) return
      ledger.newestWatch = newestOf(watchers)
      if (watchers.size === 0) uninstall()
    },
  }
  watchers.add(recording)
  ledger.newestWatch = newestOf(watchers)
  return recording
}

function newestOf(watchers: ReadonlySet<Recording>): number {
  return Math.max(...[...watchers].map(({ since }) => since))
}

/** ES modules import the functions of Node by name. `syncBuiltinESMExports()` shows them the wrapped ones. */
function install(): Installation {
  const ledger = new Ledger()
  const pools = new Pools()
  const context = { ledger, births: new Births(ledger), pools }
  const undo = unobserved(() => undoAll(TRACKERS.map((track) => track(context))))
  syncBuiltinESMExports()
  return { ledger, pools, undo, watchers: new Set() }
}

function uninstall(): void {
  installation?.undo()
  installation = undefined
  syncBuiltinESMExports()
}
