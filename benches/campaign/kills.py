"""Kills: `kill -9` at a random moment of every kind of work."""

from work import WORK, Tries

SHORT, SECONDS, LONG = 150, 17, 3000


def campaign(run, works):
    # Seconds that each kind of work takes about, over which the moments of death are spread.
    lives = dict.fromkeys(works, 0.15)
    tries = Tries(run)

    def kill(site, done):
        name, share = run.rng.choice(works), run.rng.random()
        life = max(share * lives[name], 0.0005)
        done.append(f"{name} killed after {life * 1000:.1f} ms")
        site.change()
        was_killed = site.disturbed(WORK[name], life=life)
        # About three of four are to be killed.
        lives[name] = min(max(lives[name] * (1.04 if was_killed else 0.89), 0.005), 4)
        WORK[name].after(site)
        return was_killed

    while run.goes_on():
        tries.attempt(kill)
    tries.end()
