# Everyday commands; `just` lists them. CI calls the same ones through `.ci/run`.

default:
    @just --list

# Format the sources
fmt:
    cargo fmt --all

# Format check, lints, spelling, scripts, licences, documentation
lint:
    .ci/run lint

# The tests of the product
test *ARGS:
    cargo test --locked {{ARGS}}

# Everything that a change must pass
ci:
    .ci/run

# One benchmark: `just bench search`
bench NAME *ARGS:
    cargo bench --locked --bench {{NAME}} -- {{ARGS}}

# The crate as it would be published; fails above 10 MB
package:
    .ci/run package

# API documentation, as on docs.rs
doc:
    cargo doc --locked --no-deps --open
