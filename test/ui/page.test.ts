import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningCommand, startCommand, TestCluster, until } from '../../packages/cli/test/support/command.ts'
import { Replicas } from '../../packages/cli/test/support/replicas.ts'
import { violationsIn } from './axe.ts'
import { Browser } from './browser.ts'

let browser: Browser
let cluster: TestCluster
let replicas: Replicas

beforeAll(async () => {
  browser = await Browser.start()
  cluster = await TestCluster.start()
  replicas = new Replicas()
  const kubeConfigPath = cluster.kubeConfigPath()
  const first = replicas.start({ kubeConfigPath, identity: 'first_1' })
  await until(() => first.state.kind === 'leading')
  const second = replicas.start({ kubeConfigPath, identity: 'second_1' })
  await until(() => second.candidacies[0]?.standing === 'standing')
})
afterAll(async () => {
  await replicas[Symbol.asyncDispose]()
  await cluster[Symbol.asyncDispose]()
  await browser[Symbol.asyncDispose]()
})

/** A command that serves a page. */
interface Serving extends AsyncDisposable {
  readonly url: string
  readonly port: string
  readonly token: string
}

async function serving(command: RunningCommand): Promise<Serving> {
  const address = /Page: (?<url>http:\/\/127\.0\.0\.1:(?<port>\d+)\/#(?<token>\S+))/
  await until(() => address.test(command.printed.out))
  const { url = '', port = '', token = '' } = address.exec(command.printed.out)?.groups ?? {}
  const stop = async (): Promise<void> => {
    command.interrupt()
    await command.done
  }
  return { url, port, token, [Symbol.asyncDispose]: stop }
}

function startUi(...flags: string[]): Promise<Serving> {
  const env = { PATH: process.env['PATH'], XDG_STATE_HOME: cluster.pathOf('state') }
  return serving(startCommand(['ui', '-n', 'ops', '--kubeconfig', cluster.kubeConfigPath(), ...flags], { env }))
}

/** The text of an element once it matches. */
async function textOf(
  page: { textContent(selector: string): Promise<string | null> },
  selector: string,
  expected: RegExp,
) {
  let text = ''
  await until(async () => expected.test((text = (await page.textContent(selector)) ?? '')))
  return text
}

/** The holder of the lease, as the list of the page shows it. */
const HOLDER = '[role=option] .holder'

test('the page shows the leader, and the buttons move it', async () => {
  await using ui = await startUi('--allow-actions')
  const page = await browser.open(ui.url)
  const before = await textOf(page, HOLDER, /^(first|second)_1$/)
  await page.click('[role=option]')
  await textOf(page, '#explanation', new RegExp(`${before} holds the lease`))
  await page.click('#step-down')
  const outcome = await textOf(page, '#outcome', /The handover took|no longer/)
  expect(outcome).toMatch(new RegExp(`^${before} (released|transferred) ops/janitor, and (first|second)_1 leads`))
  const next = before === 'first_1' ? 'second_1' : 'first_1'
  await textOf(page, HOLDER, new RegExp(`^${next}$`))
  await until(async () => (await page.locator('#successor option').allTextContents()).includes(before))
  await page.selectOption('#successor', before)
  await page.click('#transfer')
  await textOf(page, HOLDER, new RegExp(`^${before}$`))
  expect(await page.locator('#history tr').count()).toBeGreaterThanOrEqual(3)
  await page.close()
})

test('the page is read-only without --allow-actions', async () => {
  await using ui = await startUi()
  const page = await browser.open(ui.url)
  await textOf(page, '#connection', /^Connected, read-only$/)
  await page.click('[role=option]')
  expect(await page.isVisible('#step-down')).toBe(false)
  const answer = await fetch(`http://127.0.0.1:${ui.port}/actions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tenure-token': ui.token },
    body: JSON.stringify({ action: 'step-down', lease: 'ops/janitor' }),
  })
  expect([answer.status, await answer.json()]).toEqual([
    403,
    { isDone: false, text: 'Start the command with `--allow-actions` for this.' },
  ])
  await page.close()
})

test('the page works with the keyboard alone', async () => {
  await using ui = await startUi('--allow-actions')
  const page = await browser.open(ui.url)
  await textOf(page, HOLDER, /_1$/)
  const span = await page.textContent('#span')
  await page.keyboard.press('+')
  expect(await page.textContent('#span')).not.toBe(span)
  await page.keyboard.press('Shift+ArrowLeft')
  expect(await page.getAttribute('#now', 'aria-pressed')).toBe('false')
  await page.keyboard.press('0')
  expect(await page.getAttribute('#now', 'aria-pressed')).toBe('true')
  const focused = () => page.evaluate<string>('document.activeElement?.id ?? ""')
  for (let presses = 0; (await focused()) !== 'leases' && presses < 20; presses += 1) await page.keyboard.press('Tab')
  expect(await focused()).toBe('leases')
  await page.keyboard.press('ArrowDown')
  expect(await page.textContent('#detail-heading')).toBe('ops/janitor')
  for (let presses = 0; (await focused()) !== 'step-down' && presses < 20; presses += 1)
    await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await textOf(page, '#outcome', /The handover took/)
  await page.close()
})

test('axe finds no violation, in light and in dark', async () => {
  await using ui = await startUi('--allow-actions')
  const page = await browser.open(ui.url)
  await textOf(page, HOLDER, /_1$/)
  await page.click('[role=option]')
  await textOf(page, '#explanation', /holds the lease/)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await violationsIn(page)).toEqual([])
  }
  await page.close()
})

test('the page says that the server does not answer, connects again and says that it was restarted', async () => {
  const ui = await startUi()
  const page = await browser.open(ui.url)
  await textOf(page, HOLDER, /_1$/)
  await ui[Symbol.asyncDispose]()
  await textOf(page, '#connection', /^The server does not answer\. Trying again…$/)
  const again = await startUi('--port', ui.port)
  await textOf(page, '#connection', /The server was restarted/)
  await textOf(page, HOLDER, /_1$/)
  await page.close()
  await again[Symbol.asyncDispose]()
})

test('the server refuses other names, other origins and wrong tokens', async () => {
  await using ui = await startUi('--allow-actions')
  const statusOf = async (path: string, headers: Record<string, string>): Promise<number | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
    const request = httpRequest({ host: '127.0.0.1', port: ui.port, path, headers }, (response) => {
      response.destroy()
      resolve(response.statusCode)
    })
    request.on('error', reject).end()
    return promise
  }
  const host = `127.0.0.1:${ui.port}`
  expect(await statusOf(`/events?token=${ui.token}`, { host })).toBe(200)
  expect(await statusOf(`/events?token=${ui.token}`, { host: `evil.example:${ui.port}` })).toBe(403)
  expect(await statusOf(`/events?token=${ui.token}`, { host, origin: 'http://evil.example' })).toBe(403)
  expect(await statusOf('/events', { host })).toBe(403)
  expect(await statusOf('/events?token=wrong', { host })).toBe(403)
  expect(await statusOf('/explain?lease=ops/janitor', { host })).toBe(403)
  expect(await statusOf('/../package.json', { host })).toBe(404)
  const policy = (await fetch(`http://${host}/`)).headers.get('content-security-policy')
  expect(policy).toContain("default-src 'none'; script-src 'self'")
  const page = await browser.open(`http://${host}/#wrong`)
  await textOf(page, '#connection', /The server refuses this page/)
  await page.close()
  browser.complaints.splice(0, Infinity, ...browser.complaints.filter((text) => !text.includes('403')))
})

test('the page of tenure dev kills, pauses and cuts off replicas', async () => {
  const program = ['--', process.execPath, '-e', 'setInterval(() => {}, 1e6)']
  const flags = ['--kubeconfig', cluster.pathOf('dev'), '--replicas', '2']
  await using dev = await serving(startCommand(['dev', ...flags, ...program]))
  const page = await browser.open(dev.url)
  const state = '#replica-list [data-name=replica-1] .state'
  await textOf(page, state, /^replica-1: running$/)
  await page.getByText('Pause replica-1').click()
  await textOf(page, state, /^replica-1: paused$/)
  await page.getByText('Continue replica-1').click()
  await page.getByText('Cut off replica-1').click()
  await textOf(page, state, /^replica-1: running, cut off$/)
  await page.getByText('Kill replica-1').click()
  await textOf(page, state, /^replica-1: waiting, cut off$/)
  await textOf(page, state, /^replica-1: running, cut off$/)
  await page.close()
})

/** A replica with one long task. */
const SWEEPER = `
  import { Controller, createManager } from 'tenure'
  class Sweeper extends Controller {
    name = 'sweeper'
    run = (term) => term.spawn('sweep', () => new Promise((end) => term.signal.addEventListener('abort', end)))
  }
  await createManager({ lease: { name: 'sweeper', namespace: 'default' } }).register(() => new Sweeper()).start()
`

test('the page names what the leader does, and each task of its term with its age and place', async () => {
  const program = ['--', process.execPath, '--conditions=@tenure/source', '--input-type=module', '-e', SWEEPER]
  const flags = ['--kubeconfig', cluster.pathOf('dev-tasks'), '--replicas', '1']
  await using dev = await serving(startCommand(['dev', ...flags, ...program]))
  const page = await browser.open(dev.url)
  await textOf(page, HOLDER, /^replica-1_/)
  await page.click('[role=option]')
  await textOf(page, '#explanation', /replica-1_\S+: it leads with epoch \d+ and may act for/)
  await textOf(page, '#explanation', /replica-1_\S+: it runs the task sweeper\/sweep \(\d+ ms, started at \S+:\d+/)
  await page.close()
})

test('no page reported an error or asked for anything elsewhere', () => {
  expect(browser.complaints).toEqual([])
  expect(readFileSync(new URL('../../packages/cli/page/index.html', import.meta.url), 'utf8')).not.toMatch(/https?:/)
})
