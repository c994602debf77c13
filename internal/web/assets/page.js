// The page's script: it hears which topics have changed, fetches the parts that show them, and changes only what differs. Without
// it the page works, and is as old as its last load.
'use strict';
(() => {
  const state = document.getElementById('live');
  const say = (text) => { if (state && state.textContent !== text) state.textContent = text; };

  // Once the box does not answer, what is shown is from before, and nothing can be sent: that is said, and seen.
  const banner = document.getElementById('away');
  let heard = null; // when it did for the last time; nothing while it does
  const stale = (words) => {
    if (!banner) return;
    document.body.classList.toggle('stale', words !== '');
    banner.hidden = words === '';
    if (banner.textContent !== words) banner.textContent = words;
    for (const b of document.querySelectorAll('button')) words ? b.setAttribute('aria-disabled', 'true') : b.removeAttribute('aria-disabled');
  };
  const then = () => (heard ?? new Date()).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  const away = () => {
    stale(`The box does not answer since ${then()}. What you see is from then. What you type stays; it can be sent once the box answers again.`);
  };
  const over = () => {
    say('Logged out');
    stale(`This browser is logged out. What you see is from ${then()}: load the page again.`);
  };
  document.addEventListener('submit', (event) => {
    if (!document.body.classList.contains('stale')) return;
    event.preventDefault();
    banner.focus();
  });

  // What a person has typed, and not sent, is theirs.
  const dirty = (node) => {
    if (node instanceof HTMLTextAreaElement) return node.value !== node.defaultValue;
    if (!(node instanceof HTMLInputElement) || node.type === 'hidden') return false;
    return node.type === 'checkbox' ? node.checked !== node.defaultChecked : node.value !== node.defaultValue;
  };
  const held = (node) => node instanceof Element &&
    (node.contains(document.activeElement) && document.activeElement.matches('textarea, input') ||
      [node, ...node.querySelectorAll('textarea, input')].some(dirty));

  const callbacks = {
    beforeNodeMorphed: (old, now) => !dirty(old) && !(now instanceof Element && now.hasAttribute('data-same')),
    // What a person is writing in does not vanish below them. When they send it, they are told what became of it.
    beforeNodeRemoved: (old) => {
      if (!held(old)) return true;
      if (old.classList.contains('card')) old.classList.add('gone');
      return false;
    },
    // What a person has opened or closed stays so.
    beforeAttributeUpdated: (name, node) => !(name === 'open' && node instanceof HTMLDetailsElement),
  };

  // The title says how much waits, also of a tab that nobody looks at.
  const title = document.title;
  const counted = () => {
    const n = Number(document.getElementById('waits')?.dataset.count || 0);
    document.title = n > 0 ? `(${n}) ${title}` : title;
  };

  // What was sent of a part leaves out articles that are the same here: an empty one stands for some beside each other. Each gets one
  // with its id, which is not changed then. It returns nothing if they are not here.
  const completed = (text) => {
    const sent = new DOMParser().parseFromString(text, 'text/html').body.firstElementChild;
    for (const gap of sent.querySelectorAll('[data-same]')) {
      const same = [];
      for (let node = document.getElementById(gap.dataset.same); node && same.at(-1)?.id !== gap.dataset.to; node = node.nextElementSibling) {
        if (node.classList.contains('gone') && !held(node)) continue; // it was kept for what was typed in it
        same.push(node.cloneNode(false));
        same.at(-1).dataset.same = '';
      }
      if (same.at(-1)?.id !== gap.dataset.to) return null;
      gap.replaceWith(...same);
    }
    return sent;
  };

  const again = 2000; // between two tries, in milliseconds
  const fetching = new Map(); // a part's id, and whether it has to be fetched once more
  const refresh = async (id) => {
    if (fetching.has(id)) {
      fetching.set(id, true);
      return;
    }
    fetching.set(id, false);
    try {
      const part = document.getElementById(id);
      const at = new URL(part.dataset.from || document.body.dataset.here || location.href, location.href); // after a refused form the browser is elsewhere
      at.searchParams.set('part', id);
      at.searchParams.delete('did');
      if (part.dataset.version) at.searchParams.set('have', part.dataset.version);
      const answer = await fetch(at, { cache: 'no-store', credentials: 'same-origin', redirect: 'error' });
      if (answer.status === 401) {
        over();
      } else if (answer.status >= 500) {
        throw new Error(answer.statusText);
      } else if (answer.status === 200 && part.isConnected) {
        const now = completed(await answer.text());
        if (now) {
          Idiomorph.morph(part, now, { morphStyle: 'outerHTML', ignoreActiveValue: true, callbacks });
          counted();
        } else {
          delete part.dataset.version; // all of it, then
          fetching.set(id, true);
        }
      }
    } catch {
      setTimeout(() => refresh(id), again); // the stream does not tell it twice
    } finally {
      const more = fetching.get(id);
      fetching.delete(id);
      if (more) refresh(id);
    }
  };

  const topics = (document.body.dataset.topics || '').split(' ').filter(Boolean);
  let last = document.body.dataset.since || '0'; // the last event that it was told of
  let source = null;
  const listen = () => {
    const at = new URL('stream', location.href);
    for (const t of topics) at.searchParams.append('on', t);
    at.searchParams.set('since', last);
    source = new EventSource(at);
    source.addEventListener('open', () => {
      heard = null;
      stale('');
      say('Live');
    });
    source.addEventListener('error', () => {
      if (heard) away(); // it was asked again, and has not answered
      heard ??= new Date();
      say('Not live: connecting again');
      if (source.readyState === EventSource.CLOSED) setTimeout(knock, again); // the browser does not come back by itself after a refusal
    });
    source.addEventListener('over', () => {
      source.close();
      over();
    });
    source.addEventListener('changed', (event) => {
      last = event.lastEventId || last;
      const changed = JSON.parse(event.data);
      for (const part of document.querySelectorAll('[data-live]')) {
        if (part.dataset.live.split(' ').some((t) => changed.includes(t))) refresh(part.id);
      }
    });
  };
  const knock = async () => {
    try {
      const answer = await fetch(new URL('./?part=waits', location.href), { cache: 'no-store', credentials: 'same-origin', redirect: 'error' });
      if (answer.status === 401) return over();
      if (answer.ok) return listen();
    } catch { /* nobody is there */ }
    away();
    setTimeout(knock, again);
  };
  if (topics.length > 0 && window.EventSource && window.Idiomorph) {
    listen();
    addEventListener('pagehide', () => source.close());
    addEventListener('pageshow', (event) => { if (event.persisted) listen(); });
  }
  counted();

  // A click on a line's number begins a comment on it, in the form that belongs to the diff.
  document.addEventListener('click', (event) => {
    const line = event.target instanceof Element ? event.target.closest('[data-at]') : null;
    const field = line && line.closest('.card, main').querySelector('textarea[name=comments]');
    if (!field) return;
    const before = field.value === '' || field.value.endsWith('\n') ? '' : '\n';
    field.value += `${before}${line.dataset.at}: `;
    field.focus();
  });

  // Ctrl+Enter sends the form that somebody writes in, by its first button.
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || !(event.target instanceof HTMLTextAreaElement) || !event.target.form) return;
    const button = event.target.name === 'comments' ? event.target.form.querySelector('button[value=back]') : event.target.form.querySelector('button');
    if (button) event.target.form.requestSubmit(button);
  });
})();
