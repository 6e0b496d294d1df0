(() => {
// Keeps the page from standing still. The game runs in WebAssembly, and a panic there ends all of it: so what comes after a
// panic, an error that nobody caught, or a file that did not arrive, needs nothing of the game.
const STORE = 'samovar.guard', MINUTE = 60000, PAUSES = [0, 500, 1000, 2000, 4000];
const wait = ms => new Promise(done => setTimeout(done, ms));
const guard = {anew, reason: () => reason, halted: () => halted, farewell() {}};
let last = null, started = false, ended = false;
try { last = JSON.parse(sessionStorage[STORE] || 'null'); } catch {}
last ||= history.state && history.state[STORE];
const reason = last && !last.told ? last.why : '';
const halted = !!(last && last.halt);

// For the next page of this tab. Where storage is forbidden the tab's history stands in.
function keep(record) {
  try {
    sessionStorage[STORE] = JSON.stringify(record);
  } catch {
    history.replaceState({[STORE]: record}, '');
  }
}

// Tells the player for good. Nothing here comes from a stranger but `details`, which is text.
function show(title, text, details) {
  ended = true;
  const at = id => document.getElementById(id);
  at('loading').hidden = true;
  at('fault').hidden = false;
  at('fault-title').textContent = title;
  at('fault-text').textContent = text;
  at('fault-details').textContent = details;
  at('fault-more').hidden = !details;
  at('fault-again').onclick = () => location.reload();
  at('fault-copy').onclick = async () => {
    let copied = true;
    try {
      await navigator.clipboard.writeText(details);
    } catch {
      // Over plain HTTP there is no clipboard to write to, and others refuse.
      getSelection().selectAllChildren(at('fault-details'));
      copied = document.execCommand('copy');
    }
    at('fault-copy').textContent = copied ? 'Copied' : 'Copy what is marked';
  };
  at('fault-again').focus();
}

// Loads the page anew for this reason, unless that was done for it within a minute: then it returns false.
function anew(why, details) {
  if (ended) return true;
  if (why === 'crash') {
    try { navigator.sendBeacon('api/crashed'); } catch {}
    // So that nobody waits for this page, nor the relay for its host. It is the game's own code, which may be broken.
    try { guard.farewell(); } catch {}
  }
  const at = {...last?.at}, again = Date.now() - at[why] < MINUTE;
  if (again && why !== 'crash') return false;
  ended = true;
  at[why] = Date.now();
  keep({at, why, details: details.slice(0, 4000), halt: again});
  location.reload();
  return true;
}

function crashed(details) {
  show('The game has stopped', 'It ran into an error, and into another one soon after the page was loaded again. Your seat is kept for ten minutes.', details);
}

// A file of the page did not arrive, or could not be run.
async function mend(details) {
  if (started || ended || mend.busy) return;
  mend.busy = true;
  if (typeof WebAssembly !== 'object') {
    return show('This browser is too old', 'The game needs a browser with WebAssembly. Update this one, or take another.', '');
  }
  let fault = '';
  for (const pause of PAUSES) {
    await wait(pause);
    fault = '';
    for (const {href} of document.querySelectorAll('link[rel$=preload],link[rel=stylesheet]')) {
      const name = href.split('/').pop();
      try {
        const answer = await fetch(href, {cache: 'reload', signal: AbortSignal.timeout?.(30000)});
        await answer.arrayBuffer();
        if (!answer.ok) fault = `${name}: the server answers ${answer.status}`;
      } catch (error) {
        fault = `${name}: ${navigator.onLine ? 'the connection broke off' : 'this device is offline'} (${error.message})`;
      }
      if (fault) break;
    }
    // All of it is there now; or the address that this page has of it is of yesterday.
    if (!fault || / 4(04|10)$/.test(fault)) break;
  }
  // Something else threw, such as an extension.
  if (!fault && started && !details.includes('.css')) return;
  if ((!fault || / 4(04|10)$/.test(fault)) && anew('files', details)) return;
  if (fault) show('The game did not arrive', 'A part of the page could not be loaded. Check your network and load the page again.', fault);
  else show('The game does not start', 'All of the page has arrived, but this browser cannot run it. Update the browser, or take another.', details);
}

// An error that nobody caught. Once the game runs it counts if it is the page's own: extensions throw theirs into every page.
function on(error, where) {
  const stack = `${error && error.stack} ${where}`;
  if (!started) mend(`${error}\n${stack}`);
  else if (stack.includes(location.origin) || stack.includes('wasm://')) anew('crash', `${error}\n${stack}`);
}

addEventListener('error', event => {
  const {target} = event;
  if (target && target.tagName) {
    if (/^(SCRIPT|LINK)$/.test(target.tagName)) mend(`${target.src || target.href || 'the script'} did not load`);
  } else {
    on(event.error || event.message, event.filename);
  }
}, true);
addEventListener('unhandledrejection', ({reason}) => {
  // What the browser refuses by a promise has interrupted nothing.
  if (!started || !(reason instanceof DOMException)) on(reason, '');
});
addEventListener('TrunkApplicationStarted', () => { started = true; });
// All elements are there; the game has not begun.
document.addEventListener('readystatechange', () => {
  if (halted && document.readyState === 'interactive') crashed(last.details);
});
if (last) keep({at: halted ? {} : last.at, why: last.why, told: true});
window.samovarGuard = guard;
})();
