import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ControlPlane } from '@tenure/test-control-plane'
import { type Figures, percentile } from '../figures.ts'
import { grant, standing } from './standing.ts'

const LEASE = 'heap'

/** The measured kinds of clients, each in a new process. */
export type HeapSubject = 'bare' | 'follower' | 'leading'

/**
 * Measures the heap of a follower with its own connections and watch, minus that of a bare HTTPS client with one watch. Also measures the
 * heap of one more lease in a process that leads many leases over shared connections.
 */
export async function followerHeap(server: ControlPlane, { folder }: { readonly folder: string }): Promise<Figures> {
  const user = 'heap'
  const path = join(folder, 'heap.kubeconfig')
  await grant(server, LEASE, [user, 'heap-leader'])
  await writeFile(path, server.adminKubeConfig(), { mode: 0o600 })
  const leader = standing({ user: 'heap-leader', lease: LEASE, kubeConfig: server.kubeConfig({ name: 'heap-leader' }) })
  leader.start()
  await leader.reached('leading')
  const measured: Record<string, number> = {}
  for (const subject of ['bare', 'follower', 'leading'] as const) measured[subject] = await slope(subject, path)
  await leader.stop()
  const { bare = Number.NaN, follower = Number.NaN, leading = Number.NaN } = measured
  return {
    'P8.heap_kb': follower - bare,
    'P8.bare_kb': bare,
    'P8.leading_kb': leading,
  }
}

/** The number of processes for each kind of client. Some processes keep 1 to 2 MB more, whatever the clients do. */
const PROCESSES = 3

/** Kilobytes of heap per client: the median of several processes. */
async function slope(subject: HeapSubject, kubeConfigPath: string): Promise<number> {
  const slopes: number[] = []
  for (let process = 0; process < PROCESSES; process++) slopes.push(await slopeOfProcess(subject, kubeConfigPath))
  return percentile(slopes, 0.5)
}

async function slopeOfProcess(subject: HeapSubject, kubeConfigPath: string): Promise<number> {
  const program = join(import.meta.dirname, 'heap-process.ts')
  const args = ['--conditions=@tenure/source', '--expose-gc', program, subject, kubeConfigPath, LEASE]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return Number(stdout.trim())
}
