import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'

const EXECUTABLE = '/usr/bin/chromium'

/** Without network of its own, and without a screen. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The Chromium of the distribution, with a new user. */
export class Browser implements AsyncDisposable {
  readonly #context: BrowserContext
  readonly #folder: string
  /** What pages asked for elsewhere than on this machine, and what they reported as an error. */
  readonly complaints: string[] = []

  private constructor(context: BrowserContext, folder: string) {
    this.#context = context
    this.#folder = folder
  }

  /** @throws Error that says how to install Chromium if it is missing */
  static async start(): Promise<Browser> {
    if (!existsSync(EXECUTABLE))
      throw new Error(`The tests of the page need ${EXECUTABLE}. Run \`apt-get install -y chromium\` as root.`)
    const folder = await mkdtemp(join(tmpdir(), 'tenure-chromium-'))
    const context = await chromium.launchPersistentContext(folder, {
      executablePath: EXECUTABLE,
      headless: true,
      args: ARGUMENTS,
      viewport: { width: 1280, height: 800 },
    })
    return new Browser(context, folder)
  }

  /** Opens a page in a tab of its own. */
  async open(url: string): Promise<Page> {
    const page = await this.#context.newPage()
    page.on('request', (request) => {
      if (!/^(http:\/\/127\.0\.0\.1:\d+|file:\/)\//.test(request.url()))
        this.complaints.push(`asked for ${request.url()}`)
    })
    page.on('pageerror', (error) => this.complaints.push(error.message))
    page.on('console', (message) => {
      // A server that is restarted does not answer for a while. The page says so itself.
      if (message.type() === 'error' && !message.text().includes('net::ERR_')) this.complaints.push(message.text())
    })
    await page.goto(url)
    return page
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close()
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
