import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../packages/cli/test/support/command.ts'
import { parseAddress, Session } from '../../site/simulator/engine/session.ts'
import { writeSimulator } from '../../site/simulator/write.ts'
import { FLEET_KINDS, type FleetKind } from '../traces/fleet-kinds.ts'
import { traceFleet } from '../traces/fleet-trace.ts'
import { violationsIn } from './axe.ts'
import { Browser } from './browser.ts'
import { gzipKilobytes } from './gzip-kilobytes.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

const kind = FLEET_KINDS['plain']

let folder: string
let server: Server
let browser: Browser

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-simulator-'))
  await writeSimulator(folder)
  server = createServer((request, response) => {
    const name = new URL(request.url ?? '', 'http://localhost').pathname.slice(1)
    readFile(join(folder, name)).then(
      (content) => response.setHeader('content-type', TYPES[extname(name)] ?? '').end(content),
      () => response.writeHead(404).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  browser = await Browser.start()
})
afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  server.close()
  await rm(folder, { recursive: true })
})

function open(hash = ''): Promise<Page> {
  const { port } = server.address() as AddressInfo
  return browser.open(`http://127.0.0.1:${port}/index.html${hash}`)
}

/** Waits until an element has a text. */
async function shows(page: Page, selector: string, expected: RegExp): Promise<void> {
  await until(async () => expected.test((await page.textContent(selector)) ?? ''))
}

/** The width in pixels of what the first row of the bands has in the colour of an overlap's frame: the frame, and the line of now. */
function framePixels(page: Page): Promise<number> {
  return page.evaluate<number>(`{
    const canvas = document.querySelector('#terms canvas')
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, 1)
    const text = getComputedStyle(canvas).getPropertyValue('--warn').trim()
    const warn = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16))
    let count = 0
    for (let at = 0; at < data.length; at += 4) if (warn.every((value, index) => data[at + index] === value)) count += 1
    count
  }`)
}

test('a reader pauses the leader of the production elector, and no two terms overlap', async () => {
  const page = await open()
  await page.selectOption('#speed', '16')
  await shows(page, '#log', /replica-1 begins term 1/)
  await page.getByText('Pause replica-1').click()
  await shows(page, '#log', /replica-[23] begins term/)
  await page.getByText('Continue replica-1').click()
  await shows(page, '#log', /replica-1 ends term 1 involuntarily: stalled/)
  await shows(page, '#verdict', /^2 terms\. No two overlap\.$/)
  await page.click('#run')
  expect(await page.getAttribute('#terms canvas', 'aria-label')).toBe('Bands of terms. 2 terms. No two overlap.')
  expect(await framePixels(page)).toBeLessThan(3)
  await page.close()
})

test.each(['B5', 'O3', 'B30'])(
  'with the defect %s planted, two terms overlap, on the canvas as well',
  async (defect) => {
    const page = await open()
    await page.click(`#defect-${defect}`)
    await page.selectOption('#speed', '16')
    await page.click('#show')
    await shows(page, '#verdict', /overlap/)
    await shows(page, '#verdict', /Two of them overlap/)
    await shows(page, '#log .problem', /Terms \d+ of replica-\d and \d+ of replica-\d overlap/)
    await page.click('#run')
    await shows(page, '#verdict', /Two of them overlap for \d/)
    expect(await framePixels(page)).toBeGreaterThan(20)
    await page.close()
  },
)

test('an address opens a run, which waits for the reader and goes on step by step', async () => {
  const page = await open('#seed=3&defect=B5&script=3000.pause.1,10000.resume.1')
  expect(await page.textContent('#time')).toBe('0.000 s')
  const lines = page.locator('#log li')
  for (let steps = 0; steps < 10; steps += 1) {
    const before = await lines.count()
    await page.click('#step')
    await until(async () => (await lines.count()) > before)
    if ((await page.locator('#log .problem').count()) > 0) break
  }
  expect(await page.textContent('#log .problem')).toMatch(/^10\.000 s {2}Terms 1 of replica-1/)
  const address = new URL((await page.getAttribute('#address', 'href')) ?? '', page.url())
  expect(address.hash).toBe('#seed=3&defect=B5&script=3000.pause.1,10000.resume.1')
  await page.close()
})

test('a run in the browser is the same as in Node', async () => {
  const session = new Session(parseAddress('#seed=42'))
  const page = await open('#seed=42')
  const lines = page.locator('#log li')
  for (let steps = 0; steps < 12; steps += 1) {
    await session.step()
    await page.click('#step')
    await until(async () => (await lines.count()) === session.log.length)
  }
  const expected = session.log.map(({ at, who, what }) => `${(at / 1000).toFixed(3)} s ${who} ${what}`)
  expect(await lines.allTextContents()).toEqual(expected)
  await page.close()
})

test('a seed has actions of its own, and an address that cannot be read is named', async () => {
  const page = await open('#seed=42')
  for (let steps = 0; steps < 4; steps += 1) await page.click('#step')
  expect(await page.getAttribute('#address', 'href')).toMatch(/^#seed=42&script=2000\.[a-z-]+\.\d,/)
  await page.evaluate(`location.hash = 'seed=x'`)
  await shows(page, '#problem', /Expected `seed` to be a whole number below 2\^32, got `x`/)
  await page.close()
})

test('a trace opens from files and by its address, and the page names the line that breaks a rule', async () => {
  const { lines } = traceFleet({ seed: 1, replicas: 3, ...(kind as FleetKind) }, 60_000, 30_000)
  const broken = lines.findIndex((line) => line.includes('"u":"begin"'))
  const text = lines
    .map((line, index) => `${index === broken ? line.replace(/"until":(\d)/, '"until":9$1') : line}\n`)
    .join('')
  const page = await open()
  await page.setInputFiles('#trace', { name: 'a.jsonl', mimeType: 'text/plain', buffer: Buffer.from(text) })
  await until(async () => !(await page.isVisible('#replicas')))
  await until(async () => ((await page.getAttribute('#address', 'href')) ?? '').startsWith('#trace='))
  const address = (await page.getAttribute('#address', 'href')) ?? ''
  await page.close()
  const again = await open(address)
  const problem = again.locator('#log .problem')
  for (let steps = 0; steps < 40 && (await problem.count()) === 0; steps += 1) await again.click('#step')
  expect(await problem.first().textContent()).toContain(`is broken in line ${broken + 1} of file 1`)
  await again.setInputFiles('#trace', { name: 'b.jsonl', mimeType: 'text/plain', buffer: Buffer.from('x\n') })
  await shows(again, '#problem', /Expected line 1 of file 1 to be a line of a trace, got `x`/)
  await again.close()
})

test('the simulator works with the keyboard alone', async () => {
  const page = await open()
  const focused = () => page.evaluate<string>('document.activeElement?.textContent ?? ""')
  await shows(page, '#log', /replica-1 begins term 1/)
  for (let presses = 0; (await focused()) !== 'Kill replica-1' && presses < 40; presses += 1)
    await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await shows(page, '#log', /replica-1 is killed/)
  expect(await focused()).toBe('Start replica-1')
  await page.close()
})

test('axe finds no violation in the simulator, in light and in dark, with and without an overlap', async () => {
  for (const hash of ['', '#seed=1&defect=O3&script=3000.step-down.1']) {
    const page = await open(hash)
    for (let steps = 0; steps < 6; steps += 1) await page.click('#step')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violationsIn(page)).toEqual([])
    }
    await page.close()
  }
})

test('the simulator opens from a disk', async () => {
  const page = await browser.open(`file://${folder}/index.html`)
  await shows(page, '#log', /replica-1 begins term 1/)
  await page.close()
})

test('the simulator is small and asks for nothing elsewhere', () => {
  expect(gzipKilobytes(folder)).toBeLessThanOrEqual(60)
  expect(browser.complaints).toEqual([])
})
