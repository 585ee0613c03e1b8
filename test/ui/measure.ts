import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@tenure/core/internal'
import type { Page } from 'playwright-core'
import { type Figures, percentile } from '../../bench/figures.ts'
import { startCommand, TestCluster, until } from '../../packages/cli/test/support/command.ts'
import { writeSimulator } from '../../site/simulator/write.ts'
import { violationsIn } from './axe.ts'
import { Browser } from './browser.ts'
import { gzipKilobytes } from './gzip-kilobytes.ts'

const FOLDER = join(import.meta.dirname, '../../packages/cli/page')

const LEASES = 1000

/** The holder of each lease renews this often, as with the default options. */
const RENEW_MS = 2000

/** How often the holder of a lease changes while the latency is measured, and how many times. */
const CHANGES = 60
const CHANGE_MS = 100

const FRAMES_MS = 5000

/** Measures the page with 1,000 leases that are renewed. */
export async function measurePage(): Promise<Figures> {
  await using cluster = await TestCluster.start()
  await using browser = await Browser.start()
  for (let index = 0; index < LEASES; index += 1) cluster.putLease(nameOf(index), recordOf('replica-1_a', 1))
  const command = startCommand(['ui', '-n', 'ops', '--kubeconfig', cluster.kubeConfigPath()])
  const stopRenewals = renewAll(cluster)
  try {
    const address = /Page: (http\S+)/
    await until(() => address.test(command.printed.out))
    const [, url = ''] = address.exec(command.printed.out) ?? []
    return await measure(cluster, browser, url)
  } finally {
    stopRenewals()
    command.interrupt()
    await command.done
  }
}

async function measure(cluster: TestCluster, browser: Browser, url: string): Promise<Figures> {
  const began = performance.now()
  const page = await browser.open(url)
  await page.waitForFunction(`document.querySelectorAll('[role=option]').length === ${LEASES}`)
  await page.evaluate(FRAME)
  const readyMs = performance.now() - began
  const leases = await page.locator('[role=option]').count()
  const frames = await page.evaluate<number[]>(FRAMES)
  const latencies = await latenciesOf(cluster, page)
  await page.click('[role=option]')
  const violations: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    violations.push(...(await violationsIn(page)))
  }
  for (const violation of violations) console.error(violation)
  return {
    axe_violations: violations.length,
    bundle_gzip_kb: gzipKilobytes(FOLDER),
    simulator_gzip_kb: await simulatorKilobytes(),
    page_ready_ms: readyMs,
    event_to_pixel_p95_ms: percentile(latencies, 0.95),
    leases,
    frame_p95_ms: percentile(frames, 0.95),
  }
}

async function simulatorKilobytes(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-simulator-'))
  try {
    await writeSimulator(folder)
    return gzipKilobytes(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Resolves after the next frame has been handed to the compositor. */
const FRAME = `new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))`

/** The times between frames while the page follows now. */
const FRAMES = `new Promise((resolve) => {
  const frames = []
  let last = performance.now()
  const end = last + ${FRAMES_MS}
  const next = (now) => {
    frames.push(now - last)
    last = now
    if (now < end) requestAnimationFrame(next)
    else resolve(frames.slice(1))
  }
  requestAnimationFrame(next)
})`

/** Notes when a holder that the list shows has been drawn. The clock is that of this machine. */
const WATCH_HOLDER = `{
  const holder = document.querySelector('[role=option] .holder')
  window.seen = {}
  new MutationObserver(() => {
    const text = holder.textContent
    document.querySelector('tenure-timeline').addEventListener(
      'drawn',
      () => requestAnimationFrame(() => setTimeout(() => (window.seen[text] ??= Date.now()))),
      { once: true },
    )
  }).observe(holder, { characterData: true, childList: true, subtree: true })
}`

/** From a change in the API server until the frame after the one that shows it. */
async function latenciesOf(cluster: TestCluster, page: Page): Promise<readonly number[]> {
  await page.evaluate(WATCH_HOLDER)
  const written = new Map<string, number>()
  for (let change = 0; change < CHANGES; change += 1) {
    const holder = `replica-${(change % 3) + 1}_${change}`
    written.set(holder, systemClock.wallTime())
    update(cluster, 0, recordOf(holder, change + 2))
    await new Promise<void>((resolve) => systemClock.setTimer(CHANGE_MS, resolve))
  }
  const seen = await page.evaluate<Record<string, number>>('window.seen')
  return [...written].map(([holder, at]) => (seen[holder] ?? Infinity) - at)
}

/** Renews the leases one after the other, evenly. The returned function ends that. */
function renewAll(cluster: TestCluster): () => void {
  let next = 0
  const step = (): void => {
    for (let count = 0; count < LEASES / (RENEW_MS / 10); count += 1) {
      next = (next % (LEASES - 1)) + 1
      update(cluster, next, recordOf('replica-1_a', 1))
    }
    timer = systemClock.setTimer(10, step)
  }
  let timer = systemClock.setTimer(10, step)
  return () => timer.cancel()
}

function update(cluster: TestCluster, index: number, spec: Readonly<Record<string, string | number>>): void {
  const ref = { collection: 'coordination.k8s.io/leases', namespace: 'ops', name: nameOf(index) }
  const object = cluster.lease(nameOf(index))
  if (object !== undefined) cluster.server.store.update(ref, { ...object, spec })
}

function recordOf(holderIdentity: string, term: number): Readonly<Record<string, string | number>> {
  const acquireTime = new Date(term * 1000).toISOString().replace('Z', '000Z')
  const renewTime = new Date(systemClock.wallTime()).toISOString().replace('Z', '000Z')
  return { holderIdentity, acquireTime, renewTime, leaseDurationSeconds: 15, leaseTransitions: term }
}

function nameOf(index: number): string {
  return `lease-${String(index).padStart(4, '0')}`
}
