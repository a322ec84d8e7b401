# What every build shares: the lists of sources, and where the key package is.

# The files of a list, below the root.
proc portcullis_sources {root list} {
    set files {}
    set handle [open [file join $root $list]]
    foreach line [split [read $handle] "\n"] {
        set line [string trim $line]
        if {$line ne "" && ![string match "+*" $line]} { lappend files [file join $root $line] }
    }
    close $handle
    return $files
}

# The folder of portcullis_key.vh: the builder's own, or the public test key's. A production package inside the repository is refused.
proc portcullis_key_dir {root} {
    if {![info exists ::env(PORTCULLIS_KEY_DIR)] || $::env(PORTCULLIS_KEY_DIR) eq ""} {
        puts "portcullis: no PORTCULLIS_KEY_DIR; this build has the PUBLIC TEST KEY and is for trials only"
        return [file join $root rtl/shells/common]
    }
    set folder [file normalize $::env(PORTCULLIS_KEY_DIR)]
    if {![file exists [file join $folder portcullis_key.vh]]} {
        error "portcullis: `$folder` has no portcullis_key.vh; see docs/deploy-f2.md and docs/deploy-alveo.md"
    }
    if {[string match "[file normalize $root]/*" "$folder/"]} {
        error "portcullis: `$folder` is inside the repository; keep a secret out of it"
    }
    return $folder
}
