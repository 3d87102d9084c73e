# Sends requests with one of Perl's clients: requests.pl tiny|lwp BASE…
use strict;
use warnings;

my ($client, @bases) = @ARGV;
my %ways = (tiny => \&with_tiny, lwp => \&with_lwp);
$ways{$client}->($_) for @bases;

sub with_tiny {
    my ($base) = @_;
    require HTTP::Tiny;
    my $http = HTTP::Tiny->new(verify_SSL => 1);
    my @pieces = ('one', 'two');
    expect($http->get("$base/get?q=1", { headers => { 'X-Own' => '1' } })->{status});
    expect($http->post_form("$base/form", [a => 1])->{status});
    expect($http->request('PUT', "$base/chunked", { content => sub { shift @pieces } })->{status});
}

sub with_lwp {
    my ($base) = @_;
    require LWP::UserAgent;
    my $agent = LWP::UserAgent->new(env_proxy => 1);
    expect($agent->get("$base/get?q=1", 'X-Own' => '1')->code);
    expect($agent->post("$base/form", { a => 1 })->code);
}

sub expect {
    my ($status) = @_;
    die "status $status" unless $status == 200;
}
